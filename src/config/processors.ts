// How many processors this process may use: its cpuset, and the quotas of its control groups.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";

/** Where Linux tells of control groups. */
export interface CgroupPlaces {
  /** the groups that this process is in, one a line: `number:controllers:path` */
  readonly groups: string;
  /** where their files are */
  readonly root: string;
}

const linuxPlaces: CgroupPlaces = { groups: "/proc/self/cgroup", root: "/sys/fs/cgroup" };

/** At least 1. */
export function usableProcessors(): number {
  return Math.min(availableParallelism(), cpuQuota());
}

/**
 * The least quota of the process's groups and of those above them, version 1 and 2.
 * @returns whole processors, at least 1; infinite without a quota
 */
export function cpuQuota({ groups, root }: CgroupPlaces = linuxPlaces): number {
  // a container may not see its own group's path: its root then is the group
  const quotas = ["0::/", "0:cpu:/", ...read(groups).split("\n")].flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined || controllers === undefined) return [];
    if (controllers === "") return above(path).map((group) => read(join(root, group, "cpu.max")));
    if (!controllers.split(",").includes("cpu")) return [];
    return above(path).map((group) =>
      ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map((name) => read(join(root, "cpu", group, name))).join(" "),
    );
  });
  return Math.min(...quotas.map(processorsOf));
}

/** A path and all above it. */
function above(path: string): string[] {
  return path === "/" ? ["/"] : [path, ...above(dirname(path))];
}

/** @param quota microseconds of each period, and the period; `max` or -1 for no bound */
function processorsOf(quota: string): number {
  const [time = Number.NaN, period = Number.NaN] = quota.trim().split(/\s+/).map(Number);
  return time > 0 && period > 0 ? Math.max(1, Math.floor(time / period)) : Number.POSITIVE_INFINITY;
}

/** Empty where there is no such file. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
