// Whoever watches the work must not end it: most of it is told from timers, events and the ends of promises, where an
// exception would end the process.

/** The same functions, of which none throws. */
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
