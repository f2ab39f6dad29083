// Ends a process of spawnChild when its parent ends, and not by a signal meant for the parent.
import { Worker } from "node:worker_threads";

/** what the thread that watches the parent may use */
const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

export function endWithParent(): void {
  new Worker(new URL("./parent-watch.js", import.meta.url), { env: {}, resourceLimits }).unref();
  process.on("disconnect", () => process.exit(0));
  // The terminal's Ctrl-C, or its end, reaches the whole process group; the parent decides when this process
  // ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
}
