// A client of the server: HTTP over kept sockets, timed from the first byte written to the last one read.
import { performance } from "node:perf_hooks";
import { type Connection, openConnection, requestText } from "./connection.js";

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

/** @param sockets requests that run at the same time; more wait for one of them */
export function createClient(port: number, sockets: number): Client {
  const idle = Array.from({ length: sockets }, () => openConnection(port));
  const waiting: ((connection: Connection) => void)[] = [];

  async function exchange(method: "GET" | "POST", path: string, body: string): Promise<Exchange> {
    const request = requestText(method, path, body);
    const connection = idle.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const started = performance.now();
    try {
      const { status, body: answer } = await connection.send(request);
      return { status, body: answer, milliseconds: performance.now() - started };
    } finally {
      const next = waiting.shift();
      if (next === undefined) idle.push(connection);
      else next(connection);
    }
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
    close() {
      for (const connection of idle) connection.close();
    },
  };
}
