// A client of the server: plain node:http over kept sockets, timed from the first byte written to the last one read.
import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";

/** Milliseconds by stage, as the server gives them. */
export interface StageTimes {
  readonly queue: number;
  readonly tokenize: number;
  readonly prefill: number;
  readonly head: number;
  readonly total: number;
}

/** What an answer says beside `choices`; only what the benchmark reads. */
export interface JudgeFacts {
  readonly p_solve: number | null;
  readonly tokens: number;
  readonly cached: boolean;
  readonly abstained: string | null;
  readonly milliseconds: StageTimes;
}

export interface TimedAnswer extends JudgeFacts {
  /** as the client saw it */
  readonly clientMs: number;
}

export interface Client {
  /** @throws Error when the server cannot be reached */
  get(path: string): Promise<{ status: number; milliseconds: number }>;
  /** One chat request as it is. */
  exchange(body: string): Promise<Exchange>;
  /** @throws Error when the answer is not a verdict */
  ask(judge: string, prompt: string): Promise<TimedAnswer>;
  close(): void;
}

export interface Exchange {
  readonly status: number;
  readonly body: string;
  readonly milliseconds: number;
}

export function chatBody(judge: string, prompt: string): string {
  return JSON.stringify({ model: judge, messages: [{ role: "user", content: prompt }] });
}

/** @param sockets requests that can run at the same time */
export function createClient(port: number, sockets: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });

  function exchange(method: "GET" | "POST", path: string, body: string): Promise<Exchange> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const started = performance.now();
      const outgoing = request({ agent, host: "127.0.0.1", port, method, path, headers }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const milliseconds = performance.now() - started;
          resolve({
            status: incoming.statusCode ?? 0,
            body: Buffer.concat(chunks).toString("utf8"),
            milliseconds,
          });
        });
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  return {
    async get(path) {
      const { status, milliseconds } = await exchange("GET", path, "");
      return { status, milliseconds };
    },
    exchange: (body) => exchange("POST", "/v1/chat/completions", body),
    async ask(judge, prompt) {
      const answer = await exchange("POST", "/v1/chat/completions", chatBody(judge, prompt));
      if (answer.status !== 200) throw new Error(`${judge} answered ${answer.status}: ${answer.body}`);
      const { prefill_judge: facts } = JSON.parse(answer.body) as { prefill_judge: JudgeFacts };
      return { ...facts, clientMs: answer.milliseconds };
    },
    close: () => agent.destroy(),
  };
}
