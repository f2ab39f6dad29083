// The levels of the log. Imports nothing, since the configuration names them too.
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
