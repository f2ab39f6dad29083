// One kept HTTP/1.1 connection over a bare socket: node:http's own client takes 0.6 ms of a short request,
// which is no part of what is measured.
import { connect } from "node:net";

export interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface Connection {
  /**
   * One request at a time. Rejects when the connection ends before the reply does, or its length is not
   * given.
   */
  send(request: string): Promise<Reply>;
  close(): void;
}

const headEnd = "\r\n\r\n";

export function openConnection(port: number): Connection {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let waiting: { resolve(reply: Reply): void; reject(error: Error): void } | null = null;

  function fail(error: Error): void {
    waiting?.reject(error);
    waiting = null;
    socket.destroy();
  }

  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const end = received.indexOf(headEnd);
    if (end < 0) return;
    const head = received.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) return fail(new Error("the reply does not tell its length"));
    const start = end + headEnd.length;
    if (received.length < start + Number(length)) return;
    const reply = { status: Number(head.slice(9, 12)), body: received.toString("utf8", start) };
    received = Buffer.alloc(0);
    waiting?.resolve(reply);
    waiting = null;
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the connection ended before its reply")));

  return {
    send(request) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        if (socket.destroyed) fail(new Error("the connection has ended"));
        else socket.write(request);
      });
    },
    close: () => socket.destroy(),
  };
}

/** A request as it goes over the wire. */
export function requestText(method: "GET" | "POST", path: string, body: string): string {
  const head = [
    `${method} ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join("\r\n")}${headEnd}${body}`;
}
