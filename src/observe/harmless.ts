// Keeps the faults of log and metrics away from the work. They are mostly called from timers, events and ends
// of promises, where an exception would end the process.

/** The same functions, but none of them throws. */
export function harmless<T extends Readonly<Record<string, (...told: never[]) => void>>>(observer: T): T {
  const guarded = Object.entries(observer).map(([name, tell]) => [
    name,
    (...told: never[]) => {
      try {
        tell(...told);
      } catch {
        // one line or one count is lost
      }
    },
  ]);
  return Object.fromEntries(guarded) as T;
}
