// What the routes share: the parts the app is made of, and the life of one request.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { CruxSentences } from "../answer/crux.js";
import type { SchemaCheck } from "../answer/schema-check.js";
import { JudgeError } from "../errors.js";
import { isFailure } from "../judge/abstention-reasons.js";
import type { Judge } from "../judge/judge-parts.js";
import type { Judgement } from "../judge/judgement.js";
import type { LiveRegistry } from "../judge/live-registry.js";
import type { Registry } from "../judge/registry.js";
import type { Log } from "../observe/log.js";
import type { Metrics, Outcome } from "../observe/metrics.js";
import type { Access } from "./access.js";
import type { BodyLimits } from "./body/upload.js";
import type { PageGuard } from "./page-guard.js";

export interface Service {
  readonly judges: LiveRegistry;
  readonly sentences: CruxSentences;
  /** checks answers against the schemas of requests */
  readonly schemas: SchemaCheck;
  /** what becomes of a well-formed request that cannot be judged */
  readonly onFailure: "abstain" | "error";
  readonly access: Access;
  /** null: POST /admin/reload is off */
  readonly admin: { readonly access: Access; reload(): Promise<Readonly<Record<string, string>>> } | null;
  readonly metricsNeedKey: boolean;
  readonly corsOrigins: readonly string[];
  readonly limits: BodyLimits;
  readonly log: Log;
  readonly metrics: Metrics;
  /** milliseconds, monotonic */
  readonly clock: () => number;
  /** seconds since 1970 at which the server started */
  readonly startedSeconds: number;
  /** milliseconds since 1970 */
  readonly now: () => number;
  readonly newId: () => string;
  /** true once the server has been told to end: not ready, and every connection ends with its answer */
  readonly draining: () => boolean;
  readonly version: string;
}

export interface RequestFacts {
  readonly id: string;
  /** on the service's clock */
  readonly arrivedMs: number;
  /** of the answer, whatever it will be */
  readonly headers: Record<string, string>;
}

export type AppEnv = {
  Bindings: HttpBindings & { readonly pageGuard: PageGuard };
  Variables: { facts: RequestFacts; route: string; outcome: Outcome };
};
export type RequestContext = Context<AppEnv>;

/** Runs `work` with the judges of now; they stay what they are until it has ended. */
export async function withRegistry<T>(
  service: Service,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const lease = service.judges.acquire();
  try {
    return await work(lease.registry);
  } finally {
    lease.release();
  }
}

/** A signal that aborts when the client leaves before its answer is out. */
export function clientSignal({ env: { outgoing } }: RequestContext): AbortSignal {
  const controller = new AbortController();
  const left = () => {
    if (!outgoing.writableFinished)
      controller.abort(new JudgeError("client_gone", { found: "the client left" }));
  };
  if (outgoing.destroyed) left();
  else outgoing.once("close", left);
  return controller.signal;
}

/**
 * Counts a judgement, and logs it once the answer is out: writing a line takes as long as the head.
 *
 * @param totalMs since the request arrived
 */
export function record(
  service: Service,
  context: RequestContext,
  judge: Judge,
  judgement: Judgement,
  totalMs: number,
): void {
  const { pSolve, abstained, tokens, truncated, cache, milliseconds } = judgement;
  const requestId = context.get("facts").id;
  // of several judgements one is enough
  if (context.get("outcome") !== "judged")
    context.set("outcome", abstained === null ? "judged" : "abstained");
  setImmediate(() => {
    const entry = {
      requestId,
      judge: judge.id,
      pSolve,
      abstained,
      tokens,
      truncated,
      cache,
      milliseconds,
      totalMs,
    };
    service.metrics.judged(entry);
    service.log.judged(entry);
  });
}

/**
 * Turns an abstention into an error where the configuration wants that.
 *
 * @throws JudgeError `overloaded`, `deadline`, `encoder_down`, `encoder_error` or `internal`
 */
export function enforceOnFailure(service: Service, judge: Judge, { abstained }: Judgement): void {
  if (service.onFailure === "abstain" || abstained === null || !isFailure(abstained)) return;
  throw new JudgeError(abstained, {
    found: `judge ${judge.id} has no result: ${abstained.replaceAll("_", " ")}`,
  });
}

export const jsonType = "application/json";

/**
 * A response with the request's headers, which stay the plain object that Node takes: Hono's `context.body` and `header` copy
 * them into Headers and back. A kept result takes 0.86 to 0.90 of the server's time that it took with those.
 */
export function textAnswer(
  context: RequestContext,
  text: string,
  contentType: string,
  status = 200,
): Response {
  const { headers } = context.get("facts");
  headers["content-type"] = contentType;
  return new Response(text, { status, headers });
}

export function jsonAnswer(context: RequestContext, content: object, status = 200): Response {
  return textAnswer(context, JSON.stringify(content), jsonType, status);
}

/** Server-sent events as a response: all of them are known when the first is sent. */
export function eventStream(context: RequestContext, events: string): Response {
  context.get("facts").headers["cache-control"] = "no-cache";
  return textAnswer(context, events, "text/event-stream; charset=utf-8");
}
