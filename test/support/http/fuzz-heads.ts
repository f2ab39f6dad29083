// The parts of arbitrary requests before the body, and their bytes.
import fc from "fast-check";

const repeat = <T>(times: number, ...values: readonly T[]) => Array<readonly T[]>(times).fill(values).flat();
const headerName = fc
  .string({
    unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz-!#$&'*+.^_`|~019"),
    minLength: 1,
    maxLength: 12,
  })
  .map((name) => `x${name}`);
const headerValue = fc.string({ maxLength: 40 }).map((value) => value.replace(/[^\x20-\x7e\x80-\xff]/g, ""));
/** Up to four header lines. */
export const headers = fc.array(
  fc.oneof(
    fc.tuple(headerName, headerValue),
    fc.tuple(
      fc.constantFrom(
        "Accept",
        "Content-Type",
        "X-Request-Id",
        "Origin",
        "Authorization",
        "Cookie",
        "Range",
        "If-Match",
      ),
      headerValue,
    ),
    fc.constantFrom(
      ...repeat(6, ["Content-Type", "application/json; charset=utf-8"]),
      ...repeat(3, ["Accept-Encoding", "gzip, br"], ["Connection", "close"]),
      ["Content-Type", "text/plain; charset=latin1"],
      ["Content-Encoding", "gzip"],
    ),
  ),
  { maxLength: 4 },
);
export const host = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom("judge", "127.0.0.1:8080", "Judge.Example:80", "[::1]:1") },
  { weight: 1, arbitrary: fc.constantFrom("a b", "", "<>", "judge:99999999", "\u00e9") },
);
const knownPath = fc.constantFrom(
  "/v1/chat/completions",
  "/chat/completions",
  "/v1/score",
  "/score",
  "/v1/models",
  "/models",
  "/v1/models/tiny",
  "/models/org/judge",
  "/v1/models/org%2Fjudge",
  "/health",
  "/ready",
  "/metrics",
  "/openapi.json",
);
export const path = fc.oneof(
  { weight: 3, arbitrary: knownPath },
  {
    weight: 1,
    arbitrary: fc
      .tuple(knownPath, fc.constantFrom("/", "?a=b", "?%", "#x", "%2f", "/../x", "//", ";v=1"))
      .map((pair) => pair.join("")),
  },
  {
    weight: 2,
    arbitrary: fc.string({ maxLength: 40 }).map((tail) => `/${tail.replace(/[^\x21-\x7e]/g, "")}`),
  },
);
export const method = fc.constantFrom(
  "GET",
  "GET",
  "POST",
  "HEAD",
  "PUT",
  "DELETE",
  "OPTIONS",
  "PATCH",
  "TRACE",
  "PROPFIND",
  "QUERY",
);

interface Parts {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: readonly (readonly string[])[];
  readonly body: Buffer;
  readonly framing: "length" | "chunks";
}

/** The request as it goes over the wire. */
export function toBytes({ method, path, host, headers, body, framing }: Parts): Buffer {
  const chunked = framing === "chunks";
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (!chunked) return Buffer.concat([head, body]);
  const size = body.length === 0 ? "" : `${body.length.toString(16)}\r\n`;
  return Buffer.concat([
    head,
    Buffer.from(size),
    body,
    Buffer.from(size === "" ? "0\r\n\r\n" : "\r\n0\r\n\r\n"),
  ]);
}
