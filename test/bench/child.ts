// The benchmark's own child processes: started by file, asked by message, ended with the benchmark.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/**
 * Between two turns: onnxruntime's threads, as the floor has them, look for work for some 40 ms after a run,
 * on a core each.
 */
export const settleMs = 100;

export interface Child {
  /** @throws Error when the process ends instead of answering */
  ask<Reply>(message: object): Promise<Reply>;
  close(): Promise<void>;
}

/** @param file a compiled file of this folder, such as `load-process.js` */
export function startChild(file: string): Child {
  const child = fork(new URL(file, import.meta.url), { serialization: "advanced", execArgv: [] });
  return {
    async ask<Reply>(message: object): Promise<Reply> {
      const controller = new AbortController();
      const { signal } = controller;
      child.send(message);
      try {
        const [reply] = await Promise.race([
          once(child, "message", { signal }),
          once(child, "exit", { signal }).then(([code]) => {
            throw new Error(`${file} ended with exit code ${code}`);
          }),
        ]);
        return reply as Reply;
      } finally {
        controller.abort();
      }
    },
    close: () => endChild(child, "SIGKILL"),
  };
}

/** Sends `signal`, waits for the end, and forces it after 5 s. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}
