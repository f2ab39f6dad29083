// Loads judges anew when their files change. Looking once a second also works on network mounts.
import { setTimeout as sleep } from "node:timers/promises";
import { stampOf } from "../encoder/folder.js";

/** Looks between a load that failed and the next try with the same files, at most. */
const mostPause = 64;

export interface WatchOptions {
  /** asked anew each time, since a reload may change it */
  readonly paths: () => Promise<readonly string[]>;
  /** what they were when they were read first */
  readonly first: string;
  /** @throws when what the files hold could not be brought into service */
  readonly load: () => Promise<unknown>;
  readonly signal: AbortSignal;
  /** between two looks */
  readonly intervalMs?: number;
}

/** A load of these files. */
interface Attempt {
  readonly stamp: string;
  failures: number;
  /** looks until the next try; null while it runs */
  pause: number | null;
}

/** Loads files once they stay the same for two looks, and again at longer intervals while that fails. */
export async function watch({ paths, first, load, signal, intervalMs = 1000 }: WatchOptions): Promise<void> {
  let served = first;
  let last = first;
  let newest: Attempt | null = null;

  function attempt(mine: Attempt): void {
    newest = mine;
    mine.pause = null;
    load().then(
      () => {
        served = mine.stamp;
      },
      () => {
        mine.failures++;
        mine.pause = Math.min(2 ** mine.failures, mostPause);
      },
    );
  }

  function look(now: string): void {
    if (now === served) newest = null;
    else if (now !== last) return;
    else if (newest?.stamp !== now) attempt({ stamp: now, failures: 0, pause: null });
    else if (newest.pause !== null && --newest.pause <= 0) attempt(newest);
  }

  while (!signal.aborted) {
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
    const now = await stampOf(await paths());
    if (!signal.aborted) look(now);
    last = now;
  }
}
