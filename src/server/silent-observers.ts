// Observers for a command, which itself tells what it finds.
import { createLog } from "../observe/log.js";
import { createMetrics } from "../observe/metrics.js";
import type { Observers } from "./judges.js";

export function silentObservers(): Observers {
  return { log: createLog({ write() {} }, "silent"), metrics: createMetrics() };
}
