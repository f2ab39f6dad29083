// Settings that a reload reads and does not take: only a new start does.
import type { Config } from "../config/config.js";

/** Properties that are made of a setting of another name. */
const settingOf: Readonly<Record<string, string>> = { keys: "api_keys_file", adminKeys: "admin_key_file" };

/** Those that are others by now, as they stand in the file, such as `server.port`. */
export function ignoredChanges(started: Config, now: Config): string[] {
  return (["server", "log"] as const).flatMap((table) => {
    const [before, after] = [started[table], now[table]].map((settings) => Object.entries(settings));
    const isOther = (place: number) => JSON.stringify(before![place]) !== JSON.stringify(after![place]);
    return after!.flatMap(([name], place) =>
      isOther(place) ? [`${table}.${settingOf[name] ?? snake(name)}`] : [],
    );
  });
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
