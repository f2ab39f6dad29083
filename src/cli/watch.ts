// Tells when a file that the judges are made of changes. Looks at sizes and times once a second: that also works on network
// mounts and where files are replaced by renames or links.
import { setTimeout as sleep } from "node:timers/promises";
import { stampOf } from "../encoder/folder.js";

const intervalMs = 1000;

export interface WatchOptions {
  /** asked anew each time, since a reload may change it */
  readonly paths: () => Promise<readonly string[]>;
  /** what they were when they were read first */
  readonly first: string;
  readonly onChange: () => void;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts. A change is told once it has been the same for two looks: files are often written slowly. */
export async function watch({ paths, first, onChange, signal }: WatchOptions): Promise<void> {
  let told = first;
  let last = told;
  while (!signal.aborted) {
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
    const now = await stampOf(await paths());
    if (now !== told && now === last) {
      told = now;
      onChange();
    }
    last = now;
  }
}
