// The part of `routes check` that is about a route's way to this server: address, API and patience.

import { servedApis } from "../../answer/served-apis.js";
import { baseUrl } from "../../config/base-url.js";
import type { Config } from "../../config/config.js";
import type { Report } from "./route-fault.js";
import type { ClientTable } from "./routes-file.js";

/** A user waits so long for a judge that hangs before it is worth a word. */
const longWaitMs = 20_000;

const formats = Object.values(servedApis).map(({ clientFormat }): string => clientFormat);

/** Switchyard takes an operation off the end of a base_url and puts its own there. */
const openaiPath = /^(\/v1)?(\/chat\/completions|\/responses)?\/?$/;
const anthropicPath = /^((\/v1)?|\/v1\/messages)\/?$/;

/** @param place of the client's table */
export function checkClient(client: ClientTable, place: string[], config: Config, report: Report): void {
  checkAddress(client, place, config, report);
  if (client.format !== undefined && !formats.includes(client.format)) {
    const message = `this server does not speak ${client.format}; write format = "openai_chat"`;
    report("error", [...place, "format"], message);
  }
  const { deadlineMs } = config.runtime;
  const advised = deadlineMs + 3000;
  const timeoutMs = client.timeout_ms;
  if (timeoutMs === undefined) {
    report("warning", place, `without timeout_ms Switchyard waits for ever; write timeout_ms = ${advised}`);
  } else if (timeoutMs <= deadlineMs) {
    const message = `timeout_ms = ${timeoutMs} ends before the judge's deadline_ms = ${deadlineMs}, and a timeout is the user's error; write timeout_ms = ${advised}`;
    report("error", [...place, "timeout_ms"], message);
  } else if (timeoutMs > Math.max(longWaitMs, advised)) {
    const message = `a judge that hangs keeps the user waiting ${timeoutMs / 1000} s; write timeout_ms = ${advised}`;
    report("warning", [...place, "timeout_ms"], message);
  }
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
  const finding =
    address === null
      ? "base_url is missing or no address"
      : address.protocol !== "http:" && isHere
        ? "this server speaks plain HTTP"
        : !(format === "anthropic_messages" ? anthropicPath : openaiPath).test(address.pathname)
          ? `${address.pathname} is no path of this server`
          : isHere && portOf(address) !== server.port
            ? `this server listens on port ${server.port}`
            : null;
  if (finding !== null) report("error", [...place, "base_url"], `${finding}; write base_url = "${wanted}"`);
}

/** Whether an address names that port, on whatever host. */
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
