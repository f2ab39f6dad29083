// The load generator that every subject gets: prompts over kept connections, one client or several, each
// reply timed from its first byte sent to its last one read.
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Drive {
  /** milliseconds of each request, in no order */
  readonly milliseconds: readonly number[];
  readonly requestsPerSecond: number;
  /** bodies of the replies */
  readonly replies: readonly string[];
}

/** @throws Error when a reply is not 200 */
export async function drive(port: number, bodies: readonly string[], clients: number): Promise<Drive> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const milliseconds: number[] = [];
  const replies: string[] = [];
  let next = 0;
  const client = async () => {
    while (next < bodies.length) {
      const started = performance.now();
      replies.push(await post(agent, port, bodies[next++]!));
      milliseconds.push(performance.now() - started);
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return { milliseconds, requestsPerSecond: bodies.length / seconds, replies };
}

function post(agent: Agent, port: number, body: string): Promise<string> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const options = { agent, host: "127.0.0.1", port, method: "POST", path: "/v1/chat/completions", headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(options, async (incoming) => {
      const answer = await text(incoming);
      if (incoming.statusCode === 200) resolve(answer);
      else reject(new Error(`port ${port} answered ${incoming.statusCode}: ${answer}`));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
