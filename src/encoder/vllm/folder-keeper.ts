// Keeps the folder that a server and this process share: removes the files of requests that were given up,
// and measures what is in it.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { JudgeError } from "../../errors.js";
import { type AbandonedFiles, createAbandonedFiles } from "./abandoned-files.js";
import { isOwnName } from "./own-files.js";

export interface KeeperParts {
  readonly root: string;
  /** told the bytes of all hidden states in the folder, each time they are others */
  readonly onBytes: (bytes: number) => void;
  /** told the error code of a file that cannot be removed */
  readonly onError: (code: string) => void;
}

export interface FolderKeeper extends Pick<AbandonedFiles, "add"> {
  /** of all hidden states in the folder, a moment ago */
  readonly bytes: number;
  /** Waits a little for files that are to be removed, and ends. */
  stop(): Promise<void>;
}

const intervalMs = 500;
/** At the end, for files that are being written. */
const lastCall = { looks: 3, pauseMs: 100 };

export function startFolderKeeper({ root, onBytes, onError }: KeeperParts): FolderKeeper {
  const abandoned = createAbandonedFiles(root, onError);
  let bytes = 0;
  let running: Promise<void> | null = null;

  async function look(): Promise<void> {
    const names = await readdir(root);
    await abandoned.remove(names);
    const sizes = names.filter(isOwnName).map((name) => lstat(join(root, name)).then(({ size }) => size));
    const found = (await Promise.allSettled(sizes)).reduce(
      (sum, size) => sum + (size.status === "fulfilled" ? size.value : 0),
      0,
    );
    if (found !== bytes) onBytes(found);
    bytes = found;
  }

  /** The sweep tells of a folder that is gone. */
  const lookSafely = () => {
    running ??= look()
      .catch(() => {})
      .finally(() => {
        running = null;
      });
    return running;
  };

  const timer = setInterval(lookSafely, intervalMs).unref();
  return {
    add: abandoned.add,
    get bytes() {
      return bytes;
    },
    async stop() {
      clearInterval(timer);
      await running;
      for (let look = 0; look < lastCall.looks && abandoned.count > 0; look++) {
        await sleep(lastCall.pauseMs);
        await lookSafely();
      }
    },
  };
}

/** @throws JudgeError `overloaded` for a folder that is full: it may be in memory */
export function checkRoom(bytes: number, mostBytes: number): void {
  if (bytes <= mostBytes) return;
  throw new JudgeError("overloaded", {
    found: `hidden_states_root has ${bytes} bytes of hidden states`,
    wanted: `at most ${mostBytes}, hidden_states_max_bytes`,
    remedy: "see who else asks the server for hidden states, or raise it",
  });
}
