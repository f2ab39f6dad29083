// Looks for what must not be told: what a user typed, keys, paths, stack frames.
import { tmpdir } from "node:os";
import { packagePath } from "../fixtures.js";
import type { JudgeServer } from "../judge-server.js";

/** What every text, name, path, query and header of a request in these tests holds. */
export const marker = "mArKeR8842";
/** A key of the server, and one that is wrong. */
export const key = "sk-privacy-51x";
export const wrongKey = "sk-privacy-wrong";

const forbidden: Readonly<Record<string, RegExp>> = {
  "what the user typed": new RegExp(marker, "i"),
  "a key": /sk-privacy/,
  "the package's folder": literal(packagePath("").replace(/\/$/, "")),
  "the folder of temporary files": new RegExp(`${literal(tmpdir()).source}/`),
  "a module's path": /node_modules|node:internal|file:\/\/|\.js:\d+/,
  "a stack frame": /^\s+at |\\n\s+at /m,
};

function literal(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
}

/** What the text tells that it must not; empty when it is clean. */
export function leaksIn(text: string): string[] {
  return Object.entries(forbidden).flatMap(([name, pattern]) => {
    const found = pattern.exec(text);
    return found === null ? [] : [`${name}: ${text.slice(Math.max(0, found.index - 60), found.index + 60)}`];
  });
}

export interface Probe {
  readonly path?: string;
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers a client may send, each with the marker; the request id is none that the server takes over. */
const markedHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "x-request-id": `${marker} ${marker}`,
  "user-agent": marker,
  referer: `https://${marker}.example/`,
  cookie: `session=${marker}`,
  "x-forwarded-for": marker,
  [`x-${marker.toLowerCase()}`]: marker,
  traceparent: marker,
  authorization: `Bearer ${key}`,
};

/** Sends a request full of markers; the leaks of its answer, the body of a judged one left out. */
export async function probe(server: JudgeServer, sent: Probe): Promise<{ status: number; leaks: string[] }> {
  const { path = "/v1/chat/completions", method = "POST", body, headers = {} } = sent;
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...markedHeaders, ...headers },
    ...(body !== undefined && { body }),
  });
  const leaks = leaksIn([...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n"));
  leaks.push(...leaksIn(await response.text()));
  return { status: response.status, leaks };
}

/** The leaks of everything a server has logged and counted. */
export async function observedLeaks(server: JudgeServer): Promise<string[]> {
  const response = await fetch(`${server.url}/metrics`);
  return leaksIn(`${server.logLines.join("")}\n${await response.text()}`);
}
