// Removes hidden-state files that nobody came for, and no others. An error is told, and ends nothing.
import { unlink } from "node:fs/promises";
import { findStale, type OwnFile, type StaleRules } from "./own-files.js";

/** What one sweep removed. */
export interface Swept {
  readonly files: number;
  readonly bytes: number;
  /** the first of them, as vLLM named them */
  readonly names: readonly string[];
}

export interface SweeperParts extends StaleRules {
  readonly root: string;
  /** milliseconds between two sweeps */
  readonly intervalMs: number;
  /** told of a sweep that removed something */
  readonly onRemoved: (swept: Swept) => void;
}

export interface Sweeper {
  /** Ends the timer, and waits for a sweep that is under way. */
  stop(): Promise<void>;
}

/** So many names are told. */
const maxNames = 8;

export function startSweeper(parts: SweeperParts): Sweeper {
  const { root, intervalMs, onError, onRemoved } = parts;
  let running: Promise<void> | null = null;

  /** Whether anything of it was there. */
  async function remove({ paths }: OwnFile): Promise<boolean> {
    let removed = false;
    for (const path of paths) {
      try {
        await unlink(path);
        removed = true;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== "ENOENT") onError(code ?? "unknown");
      }
    }
    return removed;
  }

  async function sweep(): Promise<void> {
    const removed: OwnFile[] = [];
    for (const file of await findStale(root, parts)) if (await remove(file)) removed.push(file);
    if (removed.length === 0) return;
    const bytes = removed.reduce((sum, file) => sum + file.bytes, 0);
    onRemoved({ files: removed.length, bytes, names: removed.slice(0, maxNames).map(({ name }) => name) });
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
