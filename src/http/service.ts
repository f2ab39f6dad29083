// What the routes share: the parts the app is made of, and the life of one request.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { Judged } from "../answer/answer-facts.js";
import type { VerdictParts } from "../answer/verdict.js";
import type { VerdictSettings } from "../answer/verdict-settings.js";
import { JudgeError, withoutPaths } from "../errors.js";
import { isFailure } from "../judge/abstention-reasons.js";
import type { Judge } from "../judge/judge-parts.js";
import type { Judgement } from "../judge/judgement.js";
import type { LiveRegistry } from "../judge/live-registry.js";
import type { Registry } from "../judge/registry.js";
import type { Log } from "../observe/log.js";
import type { Metrics, Outcome } from "../observe/metrics.js";
import type { Access } from "./access.js";
import type { BodyLimits } from "./body/upload.js";
import type { PageGuard } from "./connection/page-guard.js";

export interface Service extends VerdictParts {
  readonly judges: LiveRegistry<VerdictSettings>;
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

interface RequestFacts {
  readonly id: string;
  /** on the service's clock */
  readonly arrivedMs: number;
}

export type AppEnv = {
  Bindings: HttpBindings & { readonly pageGuard: PageGuard };
  Variables: { facts: RequestFacts; route: string; outcome: Outcome };
};
export type RequestContext = Context<AppEnv>;

/** Runs `work` with the present judges, which a reload leaves as they are until `work` has ended. */
export async function withRegistry<T>(
  service: Service,
  work: (registry: Registry<VerdictSettings>) => Promise<T>,
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

/** Counts a judgement, and logs it once the answer is out: writing a line takes as long as the head. */
export function record(
  service: Service,
  context: RequestContext,
  { judge, judgement, totalMs }: Pick<Judged, "judge" | "judgement" | "totalMs">,
): void {
  const requestId = context.get("facts").id;
  // one judgement of several is enough
  if (context.get("outcome") !== "judged")
    context.set("outcome", judgement.abstained === null ? "judged" : "abstained");
  const { probabilities: _, raw: __, error: ___, ...facts } = judgement;
  setImmediate(() => {
    const entry = { requestId, judge: judge.id, ...facts, totalMs };
    service.metrics.judged(entry);
    service.log.judged(entry);
  });
}

/**
 * Turns an abstention into an error where the configuration wants that.
 * @throws JudgeError `overloaded`, `deadline`, `encoder_down`, `encoder_error` or `internal`
 */
export function enforceOnFailure(service: Service, judge: Judge, { abstained, error }: Judgement): void {
  if (service.onFailure === "abstain" || abstained === null || !isFailure(abstained)) return;
  const place = `judge ${judge.id} has no result`;
  const { found = abstained, wanted = null, remedy = null } = error ?? {};
  const text = { place, found: withoutPaths(found), wanted: wanted && withoutPaths(wanted), remedy };
  throw new JudgeError(abstained, { ...text, cause: error ?? undefined });
}

/** Headers of every answer about a judgement, and what each says. */
export const judgementHeaders = {
  "x-prefill-judge-model": "the judge that answered",
  "x-prefill-judge-checkpoint": "hash of the checkpoint that made the answer",
  "x-prefill-judge-p-solve": "p_solve; 0 for an abstention",
  "x-prefill-judge-abstained": "only on an abstention: why",
} as const;

/** Sets the headers that name who answered, and what. */
export function setJudgementHeaders(
  context: RequestContext,
  judge: Judge,
  { pSolve, abstained }: Judgement,
): void {
  setJudgeHeaders(context, judge);
  context.header("x-prefill-judge-p-solve", String(pSolve ?? 0));
  if (abstained !== null) context.header("x-prefill-judge-abstained", abstained);
}

/** Sets the headers that name who answered. */
export function setJudgeHeaders(context: RequestContext, judge: Judge): void {
  context.header("x-prefill-judge-model", encodeURI(judge.id));
  context.header("x-prefill-judge-checkpoint", judge.checkpoint.hash);
}
