// V8's garbage collector for a process that knows better when to collect: where no requests come, V8 waits.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A function that collects all garbage at once, and blocks its thread meanwhile. */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
