// What `doctor` finds out about the process and its machine: versions, processors.
import type { Config } from "../config/config.js";
import { usableProcessors } from "../config/processors.js";
import { type Observation, observation } from "../encoder/observation.js";
import { isNewEnough } from "./node-version.js";

export interface ProcessFacts {
  /** of this program */
  readonly version: string;
  readonly nodeVersion: string;
  /** the lower bound of Node's version, such as `>=20.19` */
  readonly wantedNode: string;
}

export function examineProcess({ runtime }: Config, facts: ProcessFacts): Observation[] {
  return [
    observation("version", "ok", { found: `prefill-judge ${facts.version}` }),
    nodeObservation(facts.nodeVersion, facts.wantedNode),
    threadsObservation(runtime, usableProcessors()),
  ];
}

/** @param wanted a lower bound such as `>=20.19` */
export function nodeObservation(version: string, wanted: string): Observation {
  const found = `Node ${version}, wanted ${wanted}`;
  const values = { version, wanted };
  return isNewEnough(version, wanted)
    ? observation("node", "ok", { found, values })
    : observation("node", "wrong", { found, advice: "install a newer Node", values });
}

/** @param processors that this process may use */
export function threadsObservation(
  { threads, processes }: Pick<Config["runtime"], "threads" | "processes">,
  processors: number,
): Observation {
  const found = `${threadsText(threads, processes)} on ${processors} processors`;
  const values = { threads, processes, processors };
  if (threads * processes <= processors) return observation("threads", "ok", { found, values });
  const settings =
    processes === 1
      ? `runtime.threads = ${processors}`
      : `runtime.processes and runtime.threads so that their product is at most ${processors}`;
  const advice = `set ${settings}: more threads than processors slow each other down`;
  return observation("threads", "warning", { found, advice, values });
}

/** Such as `2 processes of 4 threads each`; where there is one process, its threads only. */
export function threadsText(threads: number, processes: number): string {
  const each = threads === 1 ? "1 thread" : `${threads} threads`;
  return processes === 1 ? each : `${processes} processes of ${each} each`;
}
