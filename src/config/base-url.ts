// The URL under which clients reach a server.

/** @param host that the server listens on; one that stands for all addresses becomes that of loopback */
export function baseUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
