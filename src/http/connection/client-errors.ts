// What Node's parser gave up on. What no route ever sees is refused here, in the same envelope and after the answers that are
// still due on the connection; the body of a request is refused by the request's own route.
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { JudgeError } from "../../errors.js";
import type { Protocol } from "../../observe/log.js";
import { errorEnvelope, wireForm } from "../errors.js";
import { afterAnswers, breakUpload, newestRequest } from "./connection.js";

/** Of Node's parser, with the bytes that it could not read. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** Told of every refusal that no route made; the request id it gives goes into the answer. */
export type OnRefusal = (error: JudgeError, status: number, protocol?: Protocol) => string;

const proxyFinding = "this is the PROXY protocol: turn it off in the proxy before this server";
/** Other protocols by how they begin, and what to do about each. */
const protocols: readonly (readonly [Protocol, start: string, finding: string])[] = [
  [
    "tls",
    "\x16\x03",
    "this is a TLS handshake: call http://, or put a proxy that ends TLS before this server",
  ],
  [
    "http2",
    "PRI * HTTP/2",
    "this is HTTP/2: let the client, or the proxy before this server, speak HTTP/1.1",
  ],
  ["proxy", "PROXY ", proxyFinding],
  ["proxy", "\r\n\r\n\0\r\nQUIT\n", proxyFinding],
];

/** A client that does not take its refusal keeps its connection no longer than this. */
const lingerMs = 1000;

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** A listener of the server's `clientError`. */
export function createClientErrors(onRefusal: OnRefusal, maxHeaderBytes: number) {
  /** what comes after the first fault is nothing new */
  const faulty = new WeakSet<Duplex>();

  return (error: ParseError, socket: Duplex): void => {
    if (faulty.has(socket)) return;
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    faulty.add(socket);
    const request = newestRequest(socket);
    if (request === undefined || request.incoming.complete) {
      const [refusal, status, protocol] = refusalOf(error, socket, maxHeaderBytes);
      afterAnswers(socket, () =>
        refuseSocket(socket, refusal, status, () => onRefusal(refusal, status, protocol)),
      );
    } else if (request.outgoing.headersSent) {
      // its answer came before its end, and takes no other
      afterAnswers(socket, () => socket.destroy());
    } else breakUpload(request, brokenUpload(error));
  };
}

function refusalOf(
  error: ParseError,
  socket: Duplex,
  maxHeaderBytes: number,
): [error: JudgeError, status: number, protocol?: Protocol] {
  const refusal = (message: string) => new JudgeError("invalid_request", { found: message });
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return [tooSlow(), wireForm(tooSlow()).status];
  if (error.code === "HPE_HEADER_OVERFLOW") {
    const finding = `the headers have more than ${maxHeaderBytes} bytes`;
    return [refusal(`${finding}; send fewer, or raise server.max_header_bytes`), 431];
  }
  const packet = error.rawPacket;
  // only what a connection begins with tells its protocol
  if (packet !== undefined && (socket as Socket).bytesRead === packet.length) {
    const start = packet.toString("latin1", 0, 16);
    for (const [protocol, begin, message] of protocols)
      if (start.startsWith(begin)) return [refusal(message), 400, protocol];
  }
  return [refusal("this is not an HTTP request"), 400];
}

function brokenUpload({ code }: NodeJS.ErrnoException): JudgeError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return tooSlow();
  if (code === "HPE_INVALID_EOF_STATE") {
    return new JudgeError("client_gone", { found: "the client left while it sent the body" });
  }
  return new JudgeError("invalid_request", {
    found: "the body does not come as its headers say: its chunks are broken",
  });
}

function tooSlow(): JudgeError {
  return new JudgeError("request_timeout", {
    found: "the request was not complete in time",
    remedy: "send it faster",
  });
}

/** Writes a refusal as the connection's last answer. */
export function refuseSocket(socket: Duplex, error: JudgeError, status: number, onRefusal: OnRefusal): void {
  const body = errorEnvelope(error);
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\ncontent-type: application/json\r\nx-request-id: ${onRefusal(error, status)}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
