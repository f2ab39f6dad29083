// What Node's parser gave up on, and so no route ever sees: refused in the same envelope, after the answers that are still due
// on the connection.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { JudgeError } from "../errors.js";
import { errorEnvelope, wireForm } from "./errors.js";

/** Told of every refusal that no route made; the request id it gives goes into the answer. */
export type OnRefusal = (error: JudgeError, status: number) => string;

export interface ClientErrors {
  /** Every request, before it is answered. */
  arrived(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Listener of the server's `clientError`. */
  refuse(error: NodeJS.ErrnoException, socket: Duplex): void;
}

/** A client that does not take its refusal keeps its connection no longer than this. */
const lingerMs = 1000;

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

export function createClientErrors(onRefusal: OnRefusal): ClientErrors {
  /** the newest request of a connection; null: its refusal waits for an answer, and what comes meanwhile is nothing new */
  const newest = new WeakMap<Duplex, { incoming: IncomingMessage; outgoing: ServerResponse } | null>();

  return {
    arrived(incoming, outgoing) {
      newest.set(incoming.socket, { incoming, outgoing });
    },
    refuse(error, socket) {
      const request = newest.get(socket);
      if (request === null) return;
      // a connection that was reset, or whose answer came before the end of its request, takes no other
      const partOfRequest = request?.incoming.complete === false;
      if (
        !socket.writable ||
        error.code === "ECONNRESET" ||
        (partOfRequest && request.outgoing.headersSent)
      ) {
        socket.destroy();
        return;
      }
      const answer = () => {
        const refusal = refusalOf(error);
        refuseSocket(socket, refusal.error, refusal.status, onRefusal);
      };
      if (request === undefined || partOfRequest || request.outgoing.writableFinished) return answer();
      newest.set(socket, null);
      request.outgoing.once("finish", () => {
        if (socket.writable) answer();
      });
    },
  };
}

function refusalOf({ code }: NodeJS.ErrnoException): { error: JudgeError; status: number } {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    const error = new JudgeError("request_timeout", "the request was not complete in time; send it faster");
    return { error, status: wireForm(error).status };
  }
  const tooLarge = code === "HPE_HEADER_OVERFLOW";
  const finding = tooLarge ? "the headers are too large" : "this is not an HTTP request";
  return { error: new JudgeError("invalid_request", finding), status: tooLarge ? 431 : 400 };
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
