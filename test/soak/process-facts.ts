// What Linux tells of a process: its memory, its open files, its sockets.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** bytes */
export function residentBytes(pid: number): number {
  return statusBytes(pid, "VmRSS");
}

/** bytes of address space, reserved ones included */
export function virtualBytes(pid: number): number {
  return statusBytes(pid, "VmSize");
}

export interface OpenFiles {
  readonly files: number;
  /** those of the files that are sockets */
  readonly sockets: number;
}

export function openFiles(pid: number): OpenFiles {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // closed since the folder was read
      return [];
    }
  });
  const sockets = targets.filter((target) => target.startsWith("socket:")).length;
  return { files: targets.length, sockets };
}

function statusBytes(pid: number, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  if (found === null) throw new Error(`process ${pid} has no ${field}; it has ended`);
  return Number(found[1]) * 1024;
}
