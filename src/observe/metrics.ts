// The metrics, for Prometheus. Labels take values from the configuration and from closed lists only, so that their number
// is bounded and nothing a user typed can get in.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { harmless } from "./harmless.js";

/** What a request ended in: `judged`, `abstained`, `answered` (no judgement asked for) or `refused` (an HTTP error). */
export type Outcome = "judged" | "abstained" | "answered" | "refused";

/** Of one judgement. */
export interface StageMilliseconds {
  readonly queue: number;
  readonly tokenize: number;
  readonly prefill: number;
  readonly head: number;
}

/** Why a connection was closed before its client did. */
export const closings = ["idle", "unread"] as const;
export type Closing = (typeof closings)[number];

/** One judgement as the metrics see it. */
export interface JudgedSample {
  readonly judge: string;
  readonly pSolve: number | null;
  readonly abstained: string | null;
  readonly tokens: number;
  readonly truncated: boolean;
  /** hit, shared or miss; null when abstained */
  readonly cache: string | null;
  readonly milliseconds: StageMilliseconds;
}

export interface Metrics {
  readonly contentType: string;
  /** Starts the counts of these judges and encoders at 0, so that their first step shows in a rate. */
  expect(judges: readonly string[], encoders: readonly string[], reasons: readonly string[]): void;
  /** @param route one of the routes of http/app.ts */
  request(route: string, outcome: Outcome, status: number, totalMs: number): void;
  judged(sample: JudgedSample): void;
  /** What was taken off a request's text, by client. */
  unwrapped(judge: string, taken: readonly { readonly client: string; readonly count: number }[]): void;
  /** one that its client did not close: it was idle when places ran out, or its answer lay unread */
  connectionClosed(reason: Closing): void;
  /** a body that was not read at once, for lack of room */
  bodyWaited(): void;
  encoderRestarted(encoder: string): void;
  encoderUp(encoder: string, up: boolean): void;
  /** a run of so many texts */
  encoderRun(encoder: string, texts: number): void;
  /** the text that Prometheus scrapes */
  render(): Promise<string>;
}

const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const tokenBuckets = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
const textBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const probabilityBuckets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** A registry of its own, so that several servers in one process do not share counts. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const prefix = "prefill_judge_";
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: `${prefix}requests_total`,
    help: "Requests by route, outcome and HTTP status.",
    labelNames: ["route", "outcome", "status"],
    registers,
  });
  const requestSeconds = new Histogram({
    name: `${prefix}request_seconds`,
    help: "Time from a request's arrival to its answer, by route.",
    labelNames: ["route"],
    buckets: secondsBuckets,
    registers,
  });
  const stageSeconds = new Histogram({
    name: `${prefix}stage_seconds`,
    help: "Time of one judgement by stage: queue, tokenize, prefill, head.",
    labelNames: ["judge", "stage"],
    buckets: secondsBuckets,
    registers,
  });
  const abstentions = new Counter({
    name: `${prefix}abstentions_total`,
    help: "Texts that could not be judged, by reason.",
    labelNames: ["judge", "reason"],
    registers,
  });
  const tokens = new Histogram({
    name: `${prefix}tokens`,
    help: "Tokens of a judged text, template included.",
    labelNames: ["judge"],
    buckets: tokenBuckets,
    registers,
  });
  const truncations = new Counter({
    name: `${prefix}truncations_total`,
    help: "Judged texts that were cut to max_tokens.",
    labelNames: ["judge"],
    registers,
  });
  const envelopes = new Counter({
    name: `${prefix}envelopes_total`,
    help: "What clients had put around their users' texts and was taken off, by client.",
    labelNames: ["judge", "client"],
    registers,
  });
  const cacheResults = new Counter({
    name: `${prefix}cache_total`,
    help: "Judged texts by where the result came from: hit (kept), shared (a run already under way), miss (a run of its own).",
    labelNames: ["judge", "result"],
    registers,
  });
  const pSolve = new Histogram({
    name: `${prefix}p_solve`,
    help: "The probabilities given.",
    labelNames: ["judge"],
    buckets: probabilityBuckets,
    registers,
  });
  const bodyWaits = new Counter({
    name: `${prefix}body_waits_total`,
    help: "Large request bodies that found no room in memory at once.",
    registers,
  });
  const connectionsClosed = new Counter({
    name: `${prefix}connections_closed_total`,
    help: "Connections closed for want of places (idle), or because their client took no answer (unread).",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of closings) connectionsClosed.inc({ reason }, 0);
  const restarts = new Counter({
    name: `${prefix}encoder_restarts_total`,
    help: "Encoder processes that died and were started again.",
    labelNames: ["encoder"],
    registers,
  });
  const up = new Gauge({
    name: `${prefix}encoder_up`,
    help: "1 while the encoder can encode.",
    labelNames: ["encoder"],
    registers,
  });

  const batchTexts = new Histogram({
    name: `${prefix}batch_texts`,
    help: "Texts of one run of an encoder in this machine.",
    labelNames: ["encoder"],
    buckets: textBuckets,
    registers,
  });

  let rendering: Promise<string> | null = null;

  const told: Omit<Metrics, "contentType" | "render"> = {
    expect(judges, encoders, reasons) {
      for (const judge of judges) {
        for (const reason of reasons) abstentions.inc({ judge, reason }, 0);
        for (const result of ["hit", "shared", "miss"]) cacheResults.inc({ judge, result }, 0);
        truncations.inc({ judge }, 0);
      }
      for (const encoder of encoders) restarts.inc({ encoder }, 0);
    },
    request(route, outcome, status, totalMs) {
      requests.inc({ route, outcome, status });
      requestSeconds.observe({ route }, totalMs / 1000);
    },
    judged(sample) {
      const { judge } = sample;
      if (sample.pSolve === null) {
        abstentions.inc({ judge, reason: sample.abstained ?? "none" });
        return;
      }
      pSolve.observe({ judge }, sample.pSolve);
      tokens.observe({ judge }, sample.tokens);
      if (sample.truncated) truncations.inc({ judge });
      cacheResults.inc({ judge, result: sample.cache ?? "none" });
      if (sample.cache === "hit") return;
      for (const [stage, milliseconds] of Object.entries(sample.milliseconds)) {
        stageSeconds.observe({ judge, stage }, milliseconds / 1000);
      }
    },
    unwrapped(judge, taken) {
      for (const { client, count } of taken) envelopes.inc({ judge, client }, count);
    },
    connectionClosed: (reason) => connectionsClosed.inc({ reason }),
    bodyWaited: () => bodyWaits.inc(),
    encoderRestarted: (encoder) => restarts.inc({ encoder }),
    encoderRun: (encoder, texts) => batchTexts.observe({ encoder }, texts),
    encoderUp: (encoder, isUp) => up.set({ encoder }, isUp ? 1 : 0),
  };

  return {
    contentType: registry.contentType,
    ...harmless({ ...told }),
    render() {
      // for all that ask in one turn of the event loop: a connection can bring a thousand requests at once
      rendering ??= registry.metrics().finally(() => {
        rendering = null;
      });
      return rendering;
    },
  };
}
