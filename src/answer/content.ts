// A judgement as the assistant's message, in the form that the request asks for.

import type { Service } from "../http/service.js";
import type { AbstainReason } from "../judge/abstention-reasons.js";
import type { Judge } from "../judge/judge-parts.js";
import { abstained, type Judgement } from "../judge/judgement.js";
import { type AnswerFormat, type VerdictKind, verdictKind } from "./answer-format.js";
import { abstainingVerdict, renderVerdict } from "./capability.js";
import { type CruxSentences, crux } from "./crux.js";
import { type CustomVerdict, chooseGroup, renderCustom } from "./custom.js";
import { renderEscalation } from "./escalation.js";

export interface Content {
  /** the verdict's JSON */
  readonly text: string;
  /** the judgement given; an abstention where the answer does not fit the request's schema */
  readonly judgement: Judgement;
}

type Parts = Pick<Service, "sentences" | "schemas">;

/**
 * Why this judge does not even look at a request of that kind; null: it does.
 *
 * @param isContinued the conversation began in another request
 */
export function reasonNotToJudge(
  { custom, message }: Judge,
  kind: VerdictKind,
  isContinued: boolean,
): AbstainReason | null {
  if (kind === "escalation") return "running_transcript";
  if (kind === "custom" && custom === null) return "no_custom_table";
  return isContinued && message === "first" ? "no_opening_text" : null;
}

/**
 * The answer to a judgement or an abstention. A request of custom mode to a judge without such a table gets an abstaining
 * capability verdict: nothing stands at the router's selector, so that the router's own default decides.
 */
export async function renderContent(
  parts: Parts,
  judge: Judge,
  judgement: Judgement,
  format: AnswerFormat | null,
): Promise<Content> {
  const kind = verdictKind(format);
  if (kind === "custom" && judge.custom !== null) {
    return renderGroup(parts, judge.custom, judgement, format?.schema);
  }
  if (kind === "escalation") {
    const reason = cruxOf(parts.sentences, judge, judgement);
    return { text: renderEscalation(judge.escalation, reason), judgement };
  }
  return { text: renderCapability(parts.sentences, judge, judgement), judgement };
}

/** The capability verdict for a judgement or an abstention. */
export function renderCapability(sentences: CruxSentences, judge: Judge, judgement: Judgement): string {
  const sentence = cruxOf(sentences, judge, judgement);
  const { pSolve } = judgement;
  if (pSolve === null) return renderVerdict(abstainingVerdict(sentence));
  return renderVerdict({ crux: sentence, primaryRule: judge.primaryRule, pSolve });
}

function cruxOf(sentences: CruxSentences, judge: Judge, { abstained: reason }: Judgement): string {
  return crux(
    sentences,
    { judge: judge.id, checkpoint: judge.checkpoint.hash, message: judge.message },
    reason,
  );
}

/** An abstention is the default group; so is an answer that the request's schema refuses. */
async function renderGroup(
  { schemas }: Parts,
  custom: CustomVerdict,
  judgement: Judgement,
  schema: unknown,
): Promise<Content> {
  if (judgement.abstained === null) {
    const answer = renderCustom(custom, chooseGroup(custom, judgement.probabilities));
    if (schema === undefined || (await schemas.accepts(schema, answer)))
      return { text: JSON.stringify(answer), judgement };
  }
  return {
    text: JSON.stringify(renderCustom(custom, custom.defaultGroup)),
    judgement: {
      ...abstained(judgement.abstained ?? "schema_not_met"),
      milliseconds: judgement.milliseconds,
    },
  };
}
