// What `doctor` finds out about the process and its machine: versions, processors.
import { readFile } from "node:fs/promises";
import * as z from "zod";
import { isNewEnough } from "../cli/node-version.js";
import type { Terminal } from "../cli/terminal.js";
import type { Config } from "../config/config.js";
import { usableProcessors } from "../config/processors.js";
import { type Finding, finding } from "./finding.js";

const Package = z.looseObject({ engines: z.looseObject({ node: z.string() }) });

export async function examineProcess({ runtime }: Config, terminal: Terminal): Promise<Finding[]> {
  const { engines } = Package.parse(
    JSON.parse(await readFile(new URL("package.json", terminal.packageRoot), "utf8")),
  );
  return [
    finding("version", "ok", `prefill-judge ${terminal.version}`),
    nodeFinding(process.versions.node, engines.node),
    threadsFinding(runtime, usableProcessors()),
  ];
}

/** @param wanted a lower bound such as `>=20.19` */
export function nodeFinding(version: string, wanted: string): Finding {
  const found = `Node ${version}, wanted ${wanted}`;
  const values = { version, wanted };
  return isNewEnough(version, wanted)
    ? finding("node", "ok", found, null, values)
    : finding("node", "wrong", found, "install a newer Node", values);
}

/** @param processors that this process may use */
export function threadsFinding(
  { threads, processes }: Pick<Config["runtime"], "threads" | "processes">,
  processors: number,
): Finding {
  const found = `${threadsText(threads, processes)} on ${processors} processors`;
  const values = { threads, processes, processors };
  if (threads * processes <= processors) return finding("threads", "ok", found, null, values);
  const settings =
    processes === 1
      ? `runtime.threads = ${processors}`
      : `runtime.processes and runtime.threads so that their product is at most ${processors}`;
  const advice = `set ${settings}: more threads than processors slow each other down`;
  return finding("threads", "warning", found, advice, values);
}

/** Such as `2 processes of 4 threads each`; where there is one process, its threads only. */
export function threadsText(threads: number, processes: number): string {
  const each = threads === 1 ? "1 thread" : `${threads} threads`;
  return processes === 1 ? each : `${processes} processes of ${each} each`;
}
