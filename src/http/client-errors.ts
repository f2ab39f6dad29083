// What Node's parser gave up on. What no route ever sees is refused here, in the same envelope and after the answers that are
// still due on the connection; the body of a request is refused by the request's own route.
import type { Duplex } from "node:stream";
import { JudgeError } from "../errors.js";
import { afterAnswers, breakUpload, newestRequest } from "./connection.js";
import { errorEnvelope, wireForm } from "./errors.js";

/** Told of every refusal that no route made; the request id it gives goes into the answer. */
export type OnRefusal = (error: JudgeError, status: number) => string;

/** A client that does not take its refusal keeps its connection no longer than this. */
const lingerMs = 1000;

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** A listener of the server's `clientError`. */
export function createClientErrors(onRefusal: OnRefusal) {
  /** what comes after the first fault is nothing new */
  const faulty = new WeakSet<Duplex>();

  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (faulty.has(socket)) return;
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    faulty.add(socket);
    const request = newestRequest(socket);
    if (request === undefined || request.incoming.complete) {
      const { error: refusal, status } = refusalOf(error);
      afterAnswers(socket, () => refuseSocket(socket, refusal, status, onRefusal));
    } else if (request.outgoing.headersSent) {
      // its answer came before its end, and takes no other
      afterAnswers(socket, () => socket.destroy());
    } else breakUpload(request, brokenUpload(error));
  };
}

function refusalOf(error: NodeJS.ErrnoException): { error: JudgeError; status: number } {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { error: tooSlow(), status: wireForm(tooSlow()).status };
  const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const finding = tooLarge ? "the headers are too large" : "this is not an HTTP request";
  return { error: new JudgeError("invalid_request", finding), status: tooLarge ? 431 : 400 };
}

function brokenUpload({ code }: NodeJS.ErrnoException): JudgeError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return tooSlow();
  if (code === "HPE_INVALID_EOF_STATE") {
    return new JudgeError("client_gone", "the client left while it sent the body");
  }
  return new JudgeError(
    "invalid_request",
    "the body does not come as its headers say: its chunks are broken",
  );
}

function tooSlow(): JudgeError {
  return new JudgeError("request_timeout", "the request was not complete in time; send it faster");
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
