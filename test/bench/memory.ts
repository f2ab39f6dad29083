// Resident memory of the server and its encoder processes, as Linux tells it.
import { readdirSync, readFileSync } from "node:fs";

export interface Memory {
  /** `server`, or `encoder 1`, `encoder 2`, … in the order in which they were started */
  readonly process: string;
  readonly bytes: number;
}

/** Empty where there is no /proc. */
export function residentMemory(pid: number): Memory[] {
  try {
    const children = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
      .sort((a, b) => Number(a) - Number(b));
    return [`${pid}`, ...children].map((id, index) => ({
      process: index === 0 ? "server" : `encoder ${index}`,
      bytes: residentBytes(id),
    }));
  } catch {
    return [];
  }
}

function parentOf(id: string): number | null {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1]);
  } catch {
    // it has ended
    return null;
  }
}

function residentBytes(id: string): number {
  const status = readFileSync(`/proc/${id}/status`, "utf8");
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}
