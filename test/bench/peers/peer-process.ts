// A peer in a process of its own, from the Python of `.peers-bench`. What it says on standard error is kept
// in a file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { packagePath } from "../../support/fixtures.js";
import { endChild } from "../child.js";

export type PeerKind = "eager" | "sentences" | "generative";

export interface PeerProcess {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws Error with the last lines of its standard error when it ends before it can answer */
export async function startPeer(kind: PeerKind, threads: number, logFile: string): Promise<PeerProcess> {
  const log = openSync(logFile, "w");
  const script = packagePath("test/bench/peers/peer_server.py");
  const child = spawn(packagePath(".peers-bench/bin/python"), [script, kind, `${threads}`], {
    stdio: ["ignore", "pipe", log],
    env: {
      ...process.env,
      HF_HUB_OFFLINE: "1",
      TOKENIZERS_PARALLELISM: "false",
      LLAMA_CPP_LIB_PATH: packagePath(".peers-bench/llama.cpp/bin"),
    },
  });
  closeSync(log);
  const ended = once(child, "exit").then(() => {
    const reason = readFileSync(logFile, "utf8").trim().split("\n").slice(-3).join("\n");
    throw new Error(`peer ${kind} did not start:\n${reason}`);
  });
  const [line] = await Promise.race([once(createInterface({ input: child.stdout! }), "line"), ended]);
  ended.catch(() => {});
  return { port: (JSON.parse(line) as { port: number }).port, close: () => endChild(child, "SIGKILL") };
}
