// Origins and host names as browsers and clients spell them. A name that can never match is refused.
import { isIP } from "node:net";
import { JudgeError } from "../errors.js";

/**
 * @param origins `*`, or origins as in the Origin header
 * @throws JudgeError `config`
 */
export function checkOrigins(setting: string, origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    const wanted = asOrigin(origin);
    if (wanted !== origin) throw misspelt(setting, origin, wanted);
  }
  return origins;
}

/**
 * @param names of hosts, without scheme and port
 * @throws JudgeError `config`
 */
export function checkHosts(setting: string, names: readonly string[]): readonly string[] {
  for (const name of names) {
    const wanted = asHost(name);
    if (wanted !== name.toLowerCase()) throw misspelt(setting, name, wanted);
  }
  return names;
}

function misspelt(setting: string, found: string, wanted: string | null): JudgeError {
  const remedy = wanted === null ? "list each one by its name" : `write "${wanted}"`;
  return new JudgeError("config", {
    found: `${setting}: "${found}" can never match what clients send`,
    remedy,
  });
}

/** As a browser sends it; null where no spelling would do. */
function asOrigin(text: string): string | null {
  if (text === "*" || text === "null" || text === "file://") return text;
  if (text.includes("*")) return null;
  const given = text.trim();
  const scheme = /^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(given)?.[0].toLowerCase();
  if (scheme === undefined) {
    const likely = /^(localhost|127\.|\[)/i.test(given) ? "http" : "https";
    return originOf(`${likely}://${given.replace(/^.*?\/\//, "")}`);
  }
  if (scheme === "http" || scheme === "https") return originOf(given);
  // of apps and extensions: their host may have capitals
  return /^[^:]+:\/\/[^/?#\s]+/.exec(given)?.[0].replace(/^[^:]+/, scheme) ?? null;
}

function originOf(url: string): string | null {
  try {
    return new URL(url).origin;
  } catch {
    return null;
  }
}

/** Without scheme, port and path, in lower case and Punycode; null where no spelling would do. */
function asHost(text: string): string | null {
  const given = text.trim();
  if (given.includes("*")) return null;
  if (isIP(given) === 6) return given.toLowerCase();
  try {
    return new URL(`http://${given.replace(/^[a-z][a-z\d+.-]*:\/\//i, "")}`).hostname.replace(/\.$/, "");
  } catch {
    return null;
  }
}
