// The levels of the log, from the most to the least talkative. Imports nothing: the configuration names them too.
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
