// What the routes of all chat APIs share: a request that has been brought to messages and a wanted format → the judgement and
// the text of the answer. Knows no API's envelope.

import { type Judged, setAnswerHeaders } from "../answer/answer.js";
import { type AnswerFormat, verdictKind } from "../answer/answer-format.js";
import { reasonNotToJudge, renderContent } from "../answer/content.js";
import { abstained } from "../judge/judgement.js";
import type { Registry } from "../judge/registry.js";
import { judgedText } from "../prompt/judged-text.js";
import type { Message } from "../prompt/message.js";
import { clientSignal, enforceOnFailure, type RequestContext, record, type Service } from "./service.js";

export interface JudgeRequest {
  readonly model: string | null | undefined;
  readonly messages: readonly Message[];
  readonly format: AnswerFormat | null;
  /** true where the conversation began in another request, whose messages are not here */
  readonly isContinued?: boolean;
}

export interface JudgedAnswer {
  readonly judged: Judged;
  /** the assistant's message: the verdict's JSON */
  readonly content: string;
  /** seconds since 1970 */
  readonly created: number;
}

/**
 * Judges the request's text, counts and logs it, and sets the headers of the answer.
 *
 * @throws JudgeError `model_not_found`, `client_gone`; `invalid_request` where the judged message is malformed; with on_failure = "error" the failure
 */
export async function judgeRequest(
  service: Service,
  context: RequestContext,
  registry: Registry,
  { model, messages, format, isContinued = false }: JudgeRequest,
): Promise<JudgedAnswer> {
  const judge = registry.find(model);
  const { text, ignoredParts, envelopes } = judgedText(messages, judge.message, judge.envelopes);
  const reason = reasonNotToJudge(judge, verdictKind(format), isContinued);
  const { arrivedMs, headers } = context.get("facts");
  const options = { signal: () => clientSignal(context), arrivedMs };
  const [made] = reason === null ? await judge.judge([text], options) : [abstained(reason)];
  enforceOnFailure(service, judge, made!);

  const { text: content, judgement } = await renderContent(service, judge, made!, format);
  const totalMs = service.clock() - arrivedMs;
  record(service, context, judge, judgement, totalMs);
  service.metrics.unwrapped(judge.id, envelopes ?? []);
  const judged = { judge, judgement, ignoredParts, envelopes, totalMs };
  setAnswerHeaders(headers, judged);
  return { judged, content, created: Math.floor(service.now() / 1000) };
}
