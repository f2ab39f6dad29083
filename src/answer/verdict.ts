// A judgement as the text of the assistant's message, in the form that the request asks for.
import type { AbstainReason } from "../judge/abstention-reasons.js";
import type { Judge } from "../judge/judge-parts.js";
import { abstained, type Judgement } from "../judge/judgement.js";
import type { Judged } from "./answer-facts.js";
import { type AnswerFormat, type VerdictKind, verdictKind } from "./answer-format.js";
import { abstainingVerdict, renderCapability } from "./capability.js";
import { type CruxSentences, crux } from "./crux.js";
import { type CustomVerdict, chooseGroup, renderCustom } from "./custom.js";
import { renderEscalation } from "./escalation.js";
import type { SchemaCheck } from "./schema-check.js";
import type { ServedJudge, VerdictSettings } from "./verdict-settings.js";

export interface Verdict {
  /** a JSON object */
  readonly text: string;
  /** the judgement given; an abstention where the answer does not meet the request's schema */
  readonly judgement: Judgement;
}

export interface VerdictParts {
  readonly sentences: CruxSentences;
  /** checks answers against the schemas of requests */
  readonly schemas: SchemaCheck;
}

/**
 * Why this judge abstains from a request of this kind without a look at its text; null: it does not.
 * @param isContinued whether the conversation began in another request
 */
export function reasonNotToJudge(
  { judge, verdict }: ServedJudge,
  kind: VerdictKind,
  isContinued: boolean,
): AbstainReason | null {
  if (kind === "escalation") return "running_transcript";
  if (kind === "custom" && verdict.custom === null) return "no_custom_table";
  return isContinued && judge.message === "first" ? "no_opening_text" : null;
}

/** The verdict for a judgement or an abstention. Without a custom table it is a capability verdict. */
export async function renderVerdict(
  { sentences, schemas }: VerdictParts,
  { judge, verdict }: ServedJudge,
  judgement: Judgement,
  format: AnswerFormat | null,
): Promise<Verdict> {
  const { custom, escalation } = verdict;
  const capability = () => ({
    text: capabilityText(sentences, { judge, judgement, ...verdict }),
    judgement,
  });
  switch (verdictKind(format)) {
    case "capability":
      return capability();
    case "custom":
      return custom === null ? capability() : await renderGroup(schemas, custom, judgement, format?.schema);
    case "escalation":
      return { text: renderEscalation(escalation, cruxOf(sentences, judge, judgement)), judgement };
  }
}

/** The capability verdict for a judgement or an abstention. */
export function capabilityText(
  sentences: CruxSentences,
  {
    judge,
    judgement,
    primaryRule,
  }: Pick<VerdictSettings, "primaryRule"> & Pick<Judged, "judge" | "judgement">,
): string {
  const sentence = cruxOf(sentences, judge, judgement);
  const { pSolve } = judgement;
  return renderCapability(
    pSolve === null ? abstainingVerdict(sentence) : { crux: sentence, primaryRule, pSolve },
  );
}

function cruxOf(sentences: CruxSentences, judge: Judge, { abstained: reason }: Judgement): string {
  const made = { judge: judge.id, checkpoint: judge.checkpoint.hash, message: judge.message };
  return crux(sentences, made, reason);
}

/** The default group answers an abstention, and a request whose schema does not take the chosen group. */
async function renderGroup(
  schemas: SchemaCheck,
  custom: CustomVerdict,
  judgement: Judgement,
  schema: unknown,
): Promise<Verdict> {
  if (judgement.abstained === null) {
    const answer = renderCustom(custom, chooseGroup(custom, judgement.probabilities));
    if (schema === undefined || (await schemas.accepts(schema, answer)))
      return { text: JSON.stringify(answer), judgement };
  }
  const { milliseconds } = judgement;
  return {
    text: JSON.stringify(renderCustom(custom, custom.defaultGroup)),
    judgement: { ...abstained(judgement.abstained ?? "schema_not_met"), milliseconds },
  };
}
