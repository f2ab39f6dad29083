// A path that a user wrote, made whole.
import { resolve } from "node:path";
import { JudgeError } from "../errors.js";

/** Whether a path begins with ~. Only a shell knows that: here it would name a folder of that name. */
export function beginsAtHome(path: string): boolean {
  return /^~([\\/]|$)/.test(path);
}

/**
 * @param base what a relative path starts from
 * @param place how the user calls it, such as a setting or an option
 * @throws JudgeError `config` for a leading ~
 */
export function wholePath(base: string, path: string, place: string): string {
  if (!beginsAtHome(path)) return resolve(base, path);
  throw new JudgeError("config", {
    found: `${place}: found ${path}, and ~ means no folder here`,
    remedy: "write the path whole",
  });
}
