// One server of the list, and whether its results may be given out: not before it has been proved, and not
// after it may have become another.
import { asJudgeError, type JudgeError } from "../../errors.js";
import type { Client } from "./client.js";
import { createLatency } from "./latency.js";

export interface ServerParts {
  readonly client: Client;
  /**
   * Proves everything that is known of the servers.
   * @returns the fingerprint of its replies
   * @throws JudgeError with what stands in the way
   */
  readonly prove: (client: Client) => Promise<string | null>;
  /** A short look at a server that was proved. Throws as above. */
  readonly check: (server: VllmServer) => Promise<void>;
  /** pause after a look that found nothing good */
  readonly retryMs: number;
  /** pause after one that did */
  readonly probeIntervalMs: number;
  /** told when it begins or ceases to serve, or has another fault than before */
  readonly onChange: (server: VllmServer) => void;
}

export interface VllmServer {
  readonly client: Client;
  readonly isServing: boolean;
  /** why it does not serve; null while it does, and before the first look */
  readonly fault: JudgeError | null;
  /** of its replies, as last proved */
  readonly fingerprint: string | null;
  /** how long it takes for nearly every prefill; null while that is not known */
  readonly usualMs: number | null;
  /** milliseconds that its last proof took */
  readonly lookMs: number;
  /** ends with the look that is under way; null when none is */
  readonly looking: Promise<void> | null;
  /** Looks now; a server that does not serve is proved. Never rejects. */
  look(): Promise<void>;
  answered(milliseconds: number): void;
  /** It failed a request, or used up its share of the time. After some in a row it serves no more. */
  failed(fault: JudgeError): void;
  /** It may be another by now: it serves no more before it has been proved. */
  lost(fault: JudgeError): void;
  close(): void;
}

/** After so many requests in a row it serves no more before it has been proved. */
const failedMost = 3;
/** A server that gives other results than its list is looked at less often: somebody has to mend it. */
const unlikeFactor = 10;

export function createServer(parts: ServerParts): VllmServer {
  const { client, prove, check, retryMs, probeIntervalMs, onChange } = parts;
  const latency = createLatency();
  let isServing = false;
  let isClosed = false;
  let fault: JudgeError | null = null;
  let fingerprint: string | null = null;
  let looking: Promise<void> | null = null;
  let lookMs = 0;
  let failedInARow = 0;
  let timer: NodeJS.Timeout | undefined;

  function fail(error: JudgeError): void {
    if (isClosed) return;
    const isNews = isServing || fault?.message !== error.message;
    isServing = false;
    fault = error;
    if (isNews) onChange(server);
  }

  async function lookOnce(): Promise<void> {
    if (isServing) {
      try {
        await check(server);
        // a request may have lost it meanwhile
        if (isServing) return;
      } catch (error) {
        // it answers: the next request is as likely to be taken as this one
        if (asJudgeError(error).code === "overloaded") return;
        fail(asJudgeError(error));
      }
    }
    if (isClosed) return;
    try {
      const started = performance.now();
      const found = await prove(client);
      if (isClosed) return;
      lookMs = performance.now() - started;
      fingerprint = found;
      fault = null;
      isServing = true;
      failedInARow = 0;
      onChange(server);
    } catch (error) {
      fail(asJudgeError(error));
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    if (isClosed) return;
    const pause = isServing ? probeIntervalMs : retryMs * (isUnlike(fault) ? unlikeFactor : 1);
    timer = setTimeout(() => void server.look(), pause).unref();
  }

  const server: VllmServer = {
    client,
    get isServing() {
      return isServing;
    },
    get fault() {
      return fault;
    },
    get fingerprint() {
      return fingerprint;
    },
    get usualMs() {
      return latency.usualMs;
    },
    get looking() {
      return looking;
    },
    get lookMs() {
      return lookMs;
    },
    look() {
      looking ??= lookOnce().finally(() => {
        looking = null;
        schedule();
      });
      return looking;
    },
    answered(milliseconds) {
      failedInARow = 0;
      latency.add(milliseconds);
    },
    failed(error) {
      failedInARow++;
      if (failedInARow >= failedMost) server.lost(error);
      else if (isServing) void server.look();
    },
    lost(error) {
      if (!isServing) return;
      fail(error);
      void server.look();
    },
    close() {
      isClosed = true;
      isServing = false;
      clearTimeout(timer);
      client.close();
    },
  };
  return server;
}

/** What a judge or the encoder itself does not accept. */
function isUnlike(fault: JudgeError | null): boolean {
  return fault?.code === "checkpoint" || fault?.code === "encoder";
}
