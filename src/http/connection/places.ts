// Who keeps a connection. When places run out, the connection that has been idle for longest makes way, so
// that silent clients lock nobody out. A client that does not take its answer loses its place.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Closing } from "../../observe/metrics.js";

interface PlacesOptions {
  readonly maxConnections: number;
  /** an answer that has been lying there for so many looks has lain too long */
  readonly maxLooks: number;
  onClosed(reason: Closing): void;
}

interface Places {
  connected(socket: Socket): void;
  /** Whether the request's connection has a place. Without one, only probes are answered. */
  requested(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
  /** To be called at even intervals: looks for answers that nobody takes. */
  look(): void;
}

/** Connections beyond the places, for those who only ask whether the server lives. */
const spareConnections = 16;

export function createPlaces({ maxConnections, maxLooks, onClosed }: PlacesOptions): Places {
  /** those with a place */
  const placed = new Set<Socket>();
  const spare = new Set<Socket>();
  /** connections without a request in progress, the longest idle first; half a request is none */
  const idle = new Set<Socket>();
  /** requests in progress */
  const counts = new Map<Socket, number>();
  /** answers in progress, and for how many looks each has lain unread */
  const answers = new Map<ServerResponse, number>();

  const forget = (socket: Socket) => {
    for (const sockets of [placed, spare, idle]) sockets.delete(socket);
  };
  const close = (socket: Socket, reason: Closing) => {
    forget(socket);
    socket.destroy();
    onClosed(reason);
  };
  /** Makes room by closing the connection of `from` that has been idle for longest. */
  const clear = (from: ReadonlySet<Socket>, newcomer: Socket) => {
    for (const socket of idle) {
      if (socket === newcomer || !from.has(socket)) continue;
      close(socket, "idle");
      return;
    }
  };
  const place = (socket: Socket): boolean => {
    if (placed.size >= maxConnections) clear(placed, socket);
    if (placed.size >= maxConnections) return false;
    spare.delete(socket);
    placed.add(socket);
    return true;
  };
  const ended = (socket: Socket, outgoing: ServerResponse) => {
    answers.delete(outgoing);
    const count = counts.get(socket)! - 1;
    if (count > 0) {
      counts.set(socket, count);
      return;
    }
    counts.delete(socket);
    if (placed.has(socket) || spare.has(socket)) idle.add(socket);
  };
  return {
    connected(socket) {
      idle.add(socket);
      socket.once("close", () => forget(socket));
      if (place(socket)) return;
      if (spare.size >= spareConnections) clear(spare, socket);
      if (spare.size < spareConnections) spare.add(socket);
      else close(socket, "idle");
    },
    requested({ socket }, outgoing) {
      idle.delete(socket);
      counts.set(socket, (counts.get(socket) ?? 0) + 1);
      answers.set(outgoing, 0);
      outgoing.once("close", () => ended(socket, outgoing));
      return placed.has(socket) || place(socket);
    },
    look() {
      for (const [outgoing, looks] of answers) {
        // an answer behind another one waits for that, not for the client
        const liesThere = outgoing.writableEnded && !outgoing.writableFinished && outgoing.socket !== null;
        if (liesThere && looks >= maxLooks) close(outgoing.socket as Socket, "unread");
        else answers.set(outgoing, liesThere ? looks + 1 : 0);
      }
    },
  };
}
