// The files of requests that were given up: a server writes them all the same, sooner or later.
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { isOwnName, lockOf } from "./own-files.js";
import { requestIdOf } from "./request-id.js";

export interface AbandonedFiles {
  /** @param id of a request, from `newRequestId` */
  add(id: string): void;
  /** how many have not come yet */
  readonly count: number;
  /**
   * Removes those that have come.
   * @param names what is in the folder
   */
  remove(names: readonly string[]): Promise<void>;
}

/** Of more, the oldest are left to the sweep of stale files. */
const most = 1000;
/** A request that was not begun leaves no file. */
const patienceMs = 60_000;

/** @param onError told the error code of a file that cannot be removed */
export function createAbandonedFiles(root: string, onError: (code: string) => void): AbandonedFiles {
  /** when each was given up */
  const since = new Map<string, number>();

  async function removeFile(path: string): Promise<void> {
    await unlink(path).catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== "ENOENT") onError(code ?? "unknown");
    });
  }

  return {
    add(id) {
      since.set(id, performance.now());
      if (since.size > most) since.delete(since.keys().next().value!);
    },
    get count() {
      return since.size;
    },
    async remove(names) {
      for (const name of names.filter(isOwnName)) {
        const id = requestIdOf(name);
        if (id === null || !since.has(id)) continue;
        // the lock is there before the file
        await Promise.all([name, lockOf(name)].map((file) => removeFile(join(root, file))));
        since.delete(id);
      }
      for (const [id, givenUp] of since) if (performance.now() - givenUp > patienceMs) since.delete(id);
    },
  };
}
