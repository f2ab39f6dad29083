// Starts an encoder process.
import type { ChildProcess } from "node:child_process";
import { spawnChild } from "../process/child.js";

/** glibc then asks the kernel for huge pages, which speeds a prefill up. Other C libraries ignore it. */
const hugePages = "glibc.malloc.hugetlb=1";

/** A process that waits for its first command, on an IPC channel with structured clone. */
export function spawnEncoder(): ChildProcess {
  return spawnChild(new URL("./child/start.js", import.meta.url), {
    env: { GLIBC_TUNABLES: withHugePages(process.env.GLIBC_TUNABLES) },
  });
}

/** @param tunables settings of the user's own, which stay */
export function withHugePages(tunables: string | undefined): string {
  if (tunables === undefined || tunables === "") return hugePages;
  return tunables.includes("glibc.malloc.hugetlb=") ? tunables : `${tunables}:${hugePages}`;
}
