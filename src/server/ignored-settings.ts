// Settings that a reload reads and does not take: only a new start does.
import type { Config } from "../config/config.js";

/** Properties that are made of a setting of another name. */
const settingOf: Readonly<Record<string, string>> = { keys: "api_keys_file", adminKeys: "admin_key_file" };

/** Those that are others by now, as they stand in the file, such as `server.port`. */
export function ignoredChanges(started: Config, now: Config): string[] {
  const [before, after] = [started, now].map(({ server, log, runtime: { onFailure, cacheBytes } }) => ({
    ...{ server, log },
    runtime: { onFailure, cacheBytes },
  }));
  return (["server", "log", "runtime"] as const).flatMap((table) => {
    const known = new Map(
      Object.entries(before![table]).map(([name, value]) => [name, JSON.stringify(value)]),
    );
    return Object.entries(after![table]).flatMap(([name, value]) =>
      known.get(name) === JSON.stringify(value) ? [] : [`${table}.${settingOf[name] ?? snake(name)}`],
    );
  });
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
