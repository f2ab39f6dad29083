// Removes hidden-state files that nobody came for, on a timer of its own. An error is told, and ends nothing.
import { lstat, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { fileSuffix, lockSuffix } from "./hidden-state-file.js";

export interface SweeperParts {
  readonly root: string;
  /** milliseconds between two sweeps */
  readonly intervalMs: number;
  /** milliseconds without a change after which a file is stale */
  readonly staleMs: number;
  readonly onError: (code: string) => void;
}

export interface Sweeper {
  /** Ends the timer, and waits for a sweep that is under way. */
  stop(): Promise<void>;
}

export function startSweeper({ root, intervalMs, staleMs, onError }: SweeperParts): Sweeper {
  let running: Promise<void> | null = null;
  const report = ({ code }: NodeJS.ErrnoException) => {
    if (code !== "ENOENT") onError(code ?? "unknown");
  };

  async function sweep(): Promise<void> {
    for (const name of await readdir(root)) {
      if (!name.endsWith(fileSuffix) && !name.endsWith(lockSuffix)) continue;
      const path = join(root, name);
      try {
        const facts = await lstat(path);
        if (!facts.isDirectory() && Date.now() - facts.mtimeMs > staleMs) await unlink(path);
      } catch (error) {
        report(error as NodeJS.ErrnoException);
      }
    }
  }

  const timer = setInterval(() => {
    running ??= sweep()
      .catch((error) => onError(error.code ?? "unknown"))
      .finally(() => {
        running = null;
      });
  }, intervalMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
