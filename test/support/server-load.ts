// Clients that send one request after the other on kept connections until their server has ended.
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { chatPath } from "./http/raw-socket.js";
import { chat } from "./judge-server.js";
import { readVerdict } from "./verdict.js";

export interface LoadOutcome {
  /** ids of the requests that got a whole, valid verdict */
  readonly answered: ReadonlySet<string>;
  /** answers after which the connection ended */
  readonly closing: number;
  /** requests that reached the server and got no whole answer */
  readonly cut: readonly string[];
  /** new connections that the server refused, or reset before it read from them */
  readonly refusedConnections: number;
}

export interface Load {
  /** The outcome of all requests, once every client has stopped. */
  stop(): Promise<LoadOutcome>;
}

export function startLoad(url: string, clients: number): Load {
  const answered = new Set<string>();
  const cut: string[] = [];
  let closing = 0;
  let refusedConnections = 0;
  let stopped = false;

  async function client(number: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; !stopped; turn++) {
      const id = `load-${number}-${turn}`;
      try {
        const body = JSON.stringify(chat(`Task ${id}: add the numbers`));
        const response = await send(url, agent, { id, body });
        const completion = JSON.parse(await text(response));
        readVerdict(completion.choices[0].message.content);
        answered.add(id);
        if (response.headers.connection === "close") closing++;
      } catch (error) {
        if (error instanceof NotTaken) refusedConnections++;
        else cut.push(`${id}: ${String(error)}`);
        break;
      }
    }
    agent.destroy();
  }

  const running = Array.from({ length: clients }, (_, number) => client(number));
  return {
    async stop() {
      stopped = true;
      await Promise.all(running);
      return { answered, closing, cut, refusedConnections };
    },
  };
}

/** The server refused a new connection, or reset it before it read from it. */
export class NotTaken extends Error {}

/** POSTs a chat request and leaves the answer's body unread. @throws NotTaken, or the connection's error */
export function send(
  url: string,
  agent: Agent,
  { id, body }: { id: string; body: string },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "x-request-id": id };
    const sent = request(`${url}${chatPath}`, { method: "POST", agent, headers }, resolve);
    sent.once("error", (error: NodeJS.ErrnoException) => {
      const fresh = !sent.reusedSocket && (error.code === "ECONNREFUSED" || error.code === "ECONNRESET");
      reject(fresh ? new NotTaken() : error);
    });
    sent.end(body);
  });
}
