// Limits of the process on which Node's own code fails. The message then says which limit to raise.
import { readFileSync } from "node:fs";

/** How many files the process may have open. Only Linux tells it; elsewhere it counts as unlimited. */
export function openFileLimit(): number {
  try {
    const found = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return found === undefined ? Infinity : Number(found);
  } catch {
    return Infinity;
  }
}

/** What to say of a fault that a limit of the process caused; null for any other fault. */
export function limitFinding(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EMFILE" || code === "ENFILE")
    return "the limit on open files is too low; raise it (ulimit -n) to 1024 or more";
  if (error instanceof RangeError && /out of memory|allocation failed/i.test(error.message)) {
    return "the limit on address space is too low; lift it (ulimit -v unlimited), and limit memory by a cgroup instead";
  }
  return null;
}
