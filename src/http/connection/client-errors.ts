// What Node's parser gave up on. A broken body is refused by its own request. Anything else is refused here;
// where answers are due on the connection, it only ends the connection after them.
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { JudgeError } from "../../errors.js";
import type { Protocol } from "../../observe/log.js";
import { envelopeOf } from "../apis/apis.js";
import { clientGone, tooSlow } from "../body/upload.js";
import type { ErrorStatus } from "../errors.js";
import { breakUpload, newestRequest } from "./connection.js";

/** An error of Node's parser, with the bytes that it could not read. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** Told of every refusal that no route made. It gives the request id for the answer. */
export type OnRefusal = (error: JudgeError, status: ErrorStatus, protocol?: Protocol) => string;

interface Refusal {
  readonly error: JudgeError;
  readonly status: ErrorStatus;
  readonly protocol?: Protocol;
}

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

/** A listener of the server's `clientError`. */
export function createClientErrors(onRefusal: OnRefusal, maxHeaderBytes: number) {
  return (error: ParseError, socket: Socket): void => {
    const request = newestRequest(socket);
    const isUploading = request?.incoming.complete === false;
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
    } else if (isUploading && !request.outgoing.headersSent) {
      breakUpload(request, brokenUpload(error));
    } else if (!endAfterAnswers(socket)) {
      // an answer that came before its request's end is its only one
      if (isUploading) socket.destroy();
      else refuseSocket(socket, refusalOf(error, socket, maxHeaderBytes), onRefusal, targetOf(error));
    }
  };
}

/** The target of a request whose headers are too large. */
function targetOf({ rawPacket }: ParseError): string | undefined {
  return /^[A-Z]+ (\/\S*)/.exec(rawPacket?.toString("latin1", 0, 256) ?? "")?.[1];
}

/** Ends a connection on which answers are due once they are out. False where none is due. */
export function endAfterAnswers(socket: Duplex): boolean {
  const outgoing = newestRequest(socket)?.outgoing;
  if (outgoing === undefined || outgoing.writableFinished) return false;
  if (outgoing.shouldKeepAlive) outgoing.once("finish", () => (socket as Socket).destroySoon());
  outgoing.shouldKeepAlive = false;
  return true;
}

function refusalOf(error: ParseError, socket: Socket, maxHeaderBytes: number): Refusal {
  const invalid = (found: string) => new JudgeError("invalid_request", { found });
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return { error: tooSlow(), status: 408 };
  if (error.code === "HPE_HEADER_OVERFLOW") {
    const found = `the headers have more than ${maxHeaderBytes} bytes`;
    const remedy = "send fewer, or raise server.max_header_bytes";
    return { error: new JudgeError("invalid_request", { found, remedy }), status: 431 };
  }
  const packet = error.rawPacket;
  // only what a connection begins with tells its protocol
  if (packet !== undefined && socket.bytesRead === packet.length) {
    const start = packet.toString("latin1", 0, 16);
    for (const [protocol, begin, message] of protocols)
      if (start.startsWith(begin)) return { error: invalid(message), status: 400, protocol };
  }
  return { error: invalid("this is not an HTTP request"), status: 400 };
}

function brokenUpload({ code }: NodeJS.ErrnoException): JudgeError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return tooSlow();
  if (code === "HPE_INVALID_EOF_STATE") return clientGone();
  const found = "the body does not come as its headers say: its chunks are broken";
  return new JudgeError("invalid_request", { found });
}

/** Writes a refusal as the connection's last answer. */
export function refuseSocket(
  socket: Duplex,
  { error, status, protocol }: Refusal,
  onRefusal: OnRefusal,
  target = "",
): void {
  const id = onRefusal(error, status, protocol);
  const body = JSON.stringify(envelopeOf(target).render(error, status, id));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
