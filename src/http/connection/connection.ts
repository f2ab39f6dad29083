// What Node's server does not tell of a connection: its newest request, and that an upload broke off.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { JudgeError } from "../../errors.js";

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Emitted by a request whose upload breaks off. */
export const uploadBroken = Symbol("upload broken");

const newest = new WeakMap<Duplex, Exchange>();
const faults = new WeakMap<IncomingMessage, JudgeError>();

/** To be told of every request, before it is answered. */
export function requestArrived(exchange: Exchange): void {
  newest.set(exchange.incoming.socket, exchange);
}

export function newestRequest(socket: Duplex): Exchange | undefined {
  return newest.get(socket);
}

/** Tells whoever reads the request that the rest will not come. Its answer is the connection's last. */
export function breakUpload({ incoming, outgoing }: Exchange, error: JudgeError): void {
  outgoing.shouldKeepAlive = false;
  faults.set(incoming, error);
  incoming.emit(uploadBroken);
}

/** Why the rest of the request will not come. */
export function uploadFault(incoming: IncomingMessage): JudgeError | undefined {
  return faults.get(incoming);
}
