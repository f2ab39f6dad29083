// A client on a bare socket: sends what no HTTP client would, and reads whole answers.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { ErrorAnswer } from "../../../src/http/errors.js";

export interface RawAnswer {
  readonly status: number;
  /** by lower-case name */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawClient {
  readonly socket: Socket;
  /** Resolves once the bytes are with the kernel, or the connection is gone. */
  write(bytes: string | Buffer): Promise<void>;
  /**
   * The next whole answer; null when the connection ends before its first byte. Fails the test on half an
   * answer, and on none within `timeoutMs`.
   *
   * @param bodiless true for the answer to a HEAD request
   */
  answer(options?: { bodiless?: boolean; timeoutMs?: number }): Promise<RawAnswer | null>;
  close(): void;
}

/** @param heldOpen true: the client keeps its half open when the server ends the other one */
export function rawClient(url: string, { heldOpen = false } = {}): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: heldOpen });
  let received: Buffer = Buffer.alloc(0);
  let ended = false;
  let wake = () => {};
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    wake();
  });
  for (const event of ["end", "close", "error"]) {
    socket.on(event, () => {
      ended = true;
      wake();
    });
  }
  return {
    socket,
    write: (bytes) => new Promise((resolve) => void socket.write(bytes, () => resolve())),
    async answer({ bodiless = false, timeoutMs = 10_000 } = {}) {
      const end = performance.now() + timeoutMs;
      for (;;) {
        const found = readAnswer(received, bodiless, ended);
        if (found !== null) {
          received = received.subarray(found.size);
          return found.answer;
        }
        if (ended) {
          assert.equal(received.length, 0, `the connection ended within an answer: ${received}`);
          return null;
        }
        const restMs = end - performance.now();
        assert.ok(restMs > 0, `no whole answer within ${timeoutMs} ms, only: ${received}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, restMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    close: () => socket.destroy(),
  };
}

function readAnswer(bytes: Buffer, bodiless: boolean, ended: boolean) {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const [statusLine, ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine!)?.[1]);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.replace(/^[^:]*:\s*/, "")]),
  );
  const start = headEnd + 4;
  const done = (body: string, size: number) => ({ answer: { status, headers, body }, size });
  if (bodiless || status < 200 || status === 204) return done("", start);
  if (headers["transfer-encoding"] === "chunked") {
    const chunked = readChunks(bytes, start);
    return chunked && done(chunked.body, chunked.end);
  }
  const length = headers["content-length"];
  if (length === undefined) return ended ? done(bytes.toString("utf8", start), bytes.length) : null;
  const end = start + Number(length);
  return bytes.length < end ? null : done(bytes.toString("utf8", start, end), end);
}

function readChunks(bytes: Buffer, start: number): { body: string; end: number } | null {
  const pieces: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return null;
    pieces.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
    if (size === 0) return { body: Buffer.concat(pieces).toString("utf8"), end: at };
  }
}

/** Fails the test unless the answer is OpenAI's error envelope with this status and code. */
export function assertEnvelope(answer: RawAnswer | null, status: number, code: string): void {
  assert.ok(answer !== null, "the connection ended without an answer");
  assert.deepEqual(
    [answer.status, answer.headers["content-type"]],
    [status, "application/json"],
    answer.body,
  );
  assert.equal(ErrorAnswer.parse(JSON.parse(answer.body)).error.code, code);
}

/** The head of a POST with a JSON body of `length` bytes. */
export function postHead(path: string, length: number, lines: readonly string[] = []): string {
  return [`POST ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${length}`, ...lines, "", ""].join(
    "\r\n",
  );
}

export const chatPath = "/v1/chat/completions";
