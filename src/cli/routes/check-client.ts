// The part of `routes check` about how a route reaches this server: address, API and timeout.

import { servedApis } from "../../answer/served-apis.js";
import { baseUrl } from "../../config/base-url.js";
import type { Config } from "../../config/config.js";
import type { Report } from "./route-fault.js";
import type { ClientTable } from "./routes-file.js";
import { routerMarginMs } from "./routes-text.js";

/** A longer timeout gets a warning: its user would wait that long for a judge that hangs. */
const longWaitMs = 20_000;

const formats = Object.values(servedApis).map(({ clientFormat }): string => clientFormat);

/** Switchyard replaces an operation at the end of a base_url by its own. */
const openaiPath = /^(\/v1)?(\/chat\/completions|\/responses)?\/?$/;
const anthropicPath = /^((\/v1)?|\/v1\/messages)\/?$/;

/** @param place of the client's table */
export function checkClient(client: ClientTable, place: string[], config: Config, report: Report): void {
  checkAddress(client, place, config, report);
  if (client.format !== undefined && !formats.includes(client.format)) {
    report({
      place: [...place, "format"],
      found: `this server does not speak ${client.format}`,
      remedy: 'write format = "openai_chat"',
    });
  }
  if (config.server.keys.length > 0 && !sendsKey(client))
    report({
      place,
      found: "this server wants a key, and without one its 401 is the user's error",
      remedy:
        'write api_key_env = "JUDGE_KEY", and set that variable in Switchyard\'s process to one of its keys',
    });
  const { deadlineMs } = config.runtime;
  const advisedMs = deadlineMs + routerMarginMs;
  const remedy = `write timeout_ms = ${advisedMs}`;
  const { timeout_ms: timeoutMs } = client;
  const at = [...place, "timeout_ms"];
  if (timeoutMs === undefined) {
    report({ severity: "warning", place, found: "without timeout_ms Switchyard waits for ever", remedy });
  } else if (timeoutMs <= deadlineMs) {
    const found = `timeout_ms = ${timeoutMs} ends before the judge's deadline_ms = ${deadlineMs}, and a timeout is the user's error`;
    report({ place: at, found, remedy });
  } else if (timeoutMs > Math.max(longWaitMs, advisedMs)) {
    const found = `a judge that hangs keeps the user waiting ${timeoutMs / 1000} s`;
    report({ severity: "warning", place: at, found, remedy });
  }
}

/** Whether Switchyard sends a key: its own, its user's, or one in a header. */
function sendsKey({
  api_key_env: variable,
  forward_auth: forwards,
  extra_headers: headers = {},
}: ClientTable) {
  return (
    variable !== undefined ||
    forwards === true ||
    Object.keys(headers).some((name) => name.toLowerCase() === "x-api-key")
  );
}

function checkAddress(
  { base_url: url, format }: ClientTable,
  place: string[],
  { server }: Config,
  report: Report,
): void {
  const wanted = `${baseUrl(server.host, server.port)}/v1`;
  const address = addressOf(url);
  const isHere =
    address !== null && (isLocal(address.hostname) || address.hostname === new URL(wanted).hostname);
  const found =
    address === null
      ? "base_url is missing or no address"
      : address.protocol !== "http:" && isHere
        ? "this server speaks plain HTTP"
        : !(format === "anthropic_messages" ? anthropicPath : openaiPath).test(address.pathname)
          ? `${address.pathname} is no path of this server`
          : isHere && portOf(address) !== server.port
            ? `this server listens on port ${server.port}`
            : null;
  if (found !== null)
    report({ place: [...place, "base_url"], found, remedy: `write base_url = "${wanted}"` });
}

/** Whether an address names that port on any host. */
export function pointsAt(url: string | undefined, port: number): boolean {
  const address = addressOf(url);
  return address !== null && portOf(address) === port;
}

function addressOf(url: string | undefined): URL | null {
  return url !== undefined && URL.canParse(url) ? new URL(url) : null;
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function isLocal(hostname: string): boolean {
  return ["localhost", "[::1]", "0.0.0.0"].includes(hostname) || hostname.startsWith("127.");
}
