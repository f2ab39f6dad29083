// Who is told of everything that happens.
import { createLog, type Log } from "../observe/log.js";
import { createMetrics, type Metrics } from "../observe/metrics.js";

export interface Observers {
  readonly log: Log;
  readonly metrics: Metrics;
}

/** For a command, which itself tells what it finds. */
export function silentObservers(): Observers {
  return { log: createLog({ write() {} }, "silent"), metrics: createMetrics() };
}
