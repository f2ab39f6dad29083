// The metrics for Prometheus. The values of labels come from the configuration and from closed lists, so that
// their number is bounded and nothing that a user typed gets in.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { harmless } from "./harmless.js";

/** How a request ended. `answered`: it asked for no judgement; `refused`: with an HTTP error. */
export type Outcome = "judged" | "abstained" | "answered" | "refused";

/** The time that one judgement spent in each stage. */
export interface StageMilliseconds {
  readonly queue: number;
  readonly tokenize: number;
  readonly prefill: number;
  readonly head: number;
}

/** Why the server closed a connection: it was idle when places ran out, or its client took no answer. */
const closings = ["idle", "unread"] as const;
export type Closing = (typeof closings)[number];

/** What the metrics record of one judgement. */
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

export interface ExpectedLabels {
  /** `clients`: those whose envelopes the judge takes off */
  readonly judges: readonly { readonly id: string; readonly clients: readonly string[] }[];
  readonly encoders: readonly string[];
  /** why a judge may abstain */
  readonly reasons: readonly string[];
}

export interface Metrics {
  readonly contentType: string;
  /** Starts the counters with these labels at 0, so that their first step shows in a rate. */
  expect(labels: ExpectedLabels): void;
  /** @param route the label of a route of http/ */
  request(route: string, outcome: Outcome, status: number, totalMs: number): void;
  judged(sample: JudgedSample): void;
  /** Counts the envelopes that were taken off a request's text. */
  unwrapped(judge: string, taken: readonly { readonly client: string; readonly count: number }[]): void;
  connectionClosed(reason: Closing): void;
  /** Counts a body that had to wait for room before it was read. */
  bodyWaited(): void;
  encoderRestarted(encoder: string): void;
  encoderUp(encoder: string, up: boolean): void;
  /** The encoder serves nobody any more. */
  encoderGone(encoder: string): void;
  /** @param server name and port */
  serverUp(encoder: string, server: string, up: boolean): void;
  /** Records what lies in the folder of a vLLM encoder. */
  hiddenStateBytes(encoder: string, bytes: number): void;
  /** Records a run of so many texts. */
  encoderRun(encoder: string, texts: number): void;
  /** The text that Prometheus scrapes. */
  render(): Promise<string>;
}

const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const tokenBuckets = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
const textBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const probabilityBuckets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** Each server has a registry of its own, so that several servers in one process do not share counts. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const described = <Label extends string>(name: string, help: string, ...labelNames: Label[]) => ({
    name: `prefill_judge_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const requests = new Counter(
    described("requests_total", "Requests by route, outcome and HTTP status.", "route", "outcome", "status"),
  );
  const requestSeconds = new Histogram({
    ...described("request_seconds", "Time from a request's arrival to its answer, by route.", "route"),
    buckets: secondsBuckets,
  });
  const stageSeconds = new Histogram({
    ...described(
      "stage_seconds",
      "Time of one judgement by stage: queue, tokenize, prefill, head.",
      "judge",
      "stage",
    ),
    buckets: secondsBuckets,
  });
  const abstentions = new Counter(
    described("abstentions_total", "Texts that could not be judged, by reason.", "judge", "reason"),
  );
  const tokens = new Histogram({
    ...described("tokens", "Tokens of a judged text, template included.", "judge"),
    buckets: tokenBuckets,
  });
  const truncations = new Counter(
    described("truncations_total", "Judged texts that were cut to max_tokens.", "judge"),
  );
  const envelopes = new Counter(
    described(
      "envelopes_total",
      "What clients had put around their users' texts and was taken off, by client.",
      "judge",
      "client",
    ),
  );
  const cacheResults = new Counter(
    described(
      "cache_total",
      "Judged texts by where the result came from: hit (kept), shared (a run already under way), miss (a run of its own).",
      "judge",
      "result",
    ),
  );
  const pSolve = new Histogram({
    ...described("p_solve", "The probabilities given.", "judge"),
    buckets: probabilityBuckets,
  });
  const bodyWaits = new Counter(
    described("body_waits_total", "Large request bodies that found no room in memory at once."),
  );
  const connectionsClosed = new Counter(
    described(
      "connections_closed_total",
      "Connections closed for want of places (idle), or because their client took no answer (unread).",
      "reason",
    ),
  );
  for (const reason of closings) connectionsClosed.inc({ reason }, 0);
  const restarts = new Counter(
    described("encoder_restarts_total", "Encoder processes that died and were started again.", "encoder"),
  );
  const up = new Gauge(described("encoder_up", "1 while the encoder can encode.", "encoder"));
  const servers = new Gauge(
    described("encoder_server_up", "1 while results of this vLLM server are used.", "encoder", "server"),
  );
  const folderBytes = new Gauge(
    described("hidden_state_bytes", "Hidden states that lie in the folder of a vLLM encoder.", "encoder"),
  );
  const serversOf = new Map<string, Set<string>>();
  const batchTexts = new Histogram({
    ...described("batch_texts", "Texts of one run of an encoder in this machine.", "encoder"),
    buckets: textBuckets,
  });

  let rendering: Promise<string> | null = null;

  const told: Omit<Metrics, "contentType" | "render"> = {
    expect({ judges, encoders, reasons }) {
      for (const { id: judge, clients } of judges) {
        for (const client of clients) envelopes.inc({ judge, client }, 0);
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
    encoderGone(encoder) {
      up.set({ encoder }, 0);
      folderBytes.remove({ encoder });
      for (const server of serversOf.get(encoder) ?? []) servers.remove({ encoder, server });
      serversOf.delete(encoder);
    },
    serverUp(encoder, server, isUp) {
      serversOf.set(encoder, (serversOf.get(encoder) ?? new Set()).add(server));
      servers.set({ encoder, server }, isUp ? 1 : 0);
    },
    hiddenStateBytes: (encoder, bytes) => folderBytes.set({ encoder }, bytes),
  };

  return {
    contentType: registry.contentType,
    ...harmless({ ...told }),
    render() {
      // shared by all that ask at the same time: a connection can bring a thousand requests at once
      rendering ??= registry.metrics().finally(() => {
        rendering = null;
      });
      return rendering;
    },
  };
}
