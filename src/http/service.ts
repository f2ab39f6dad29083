// What the routes share: the parts the app is made of, and the life of one request.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { type ErrorCode, JudgeError } from "../errors.js";
import type { Judge, Judgement } from "../judge/judge.js";
import type { Registry } from "../judge/registry.js";
import type { Log } from "../observe/log.js";
import type { CruxSentences } from "../verdict/crux.js";

export interface Service {
  readonly registry: Registry;
  readonly sentences: CruxSentences;
  /** what becomes of a well-formed request that cannot be judged */
  readonly onFailure: "abstain" | "error";
  readonly log: Log;
  /** milliseconds, monotonic */
  readonly clock: () => number;
  /** seconds since 1970 at which the server started */
  readonly startedSeconds: number;
  /** milliseconds since 1970 */
  readonly now: () => number;
  readonly newId: () => string;
}

export interface RequestFacts {
  readonly id: string;
  /** on the service's clock */
  readonly arrivedMs: number;
}

export type AppEnv = { Bindings: HttpBindings; Variables: { facts: RequestFacts } };
export type RequestContext = Context<AppEnv>;

/** A signal that aborts when the client leaves before its answer is out. */
export function clientSignal({ env: { outgoing } }: RequestContext): AbortSignal {
  const controller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) controller.abort(new JudgeError("client_gone", "the client left"));
  });
  return controller.signal;
}

/**
 * Turns an abstention into an error where the configuration wants that.
 *
 * @throws JudgeError `deadline`, `encoder_down`, `encoder_error` or `internal`
 */
export function enforceOnFailure(service: Service, judge: Judge, { abstained }: Judgement): void {
  if (service.onFailure === "abstain" || abstained === null || abstained === "no_user_text") return;
  const code: ErrorCode = abstained;
  throw new JudgeError(code, `judge ${judge.id} has no result: ${abstained.replaceAll("_", " ")}`);
}
