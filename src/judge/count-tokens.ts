// How many tokens a judge reads of a text, without judging it.
import { abortable, withTimeout } from "../abort.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "./judge-parts.js";

/**
 * What a judgement of the text would say as its tokens.
 * @throws JudgeError `encoder_down`, `encoder_error`, `overloaded`, `deadline`; `signal.reason` when aborted
 */
export async function countTokens(judge: Judge, text: string, signal: AbortSignal): Promise<number> {
  if (!judge.ready)
    throw new JudgeError("encoder_down", { found: `judge ${judge.id} is not ready`, remedy: "ask again" });
  const late = () =>
    new JudgeError("deadline", {
      found: `no token count within ${judge.deadlineMs} ms`,
      remedy: "ask again",
    });
  const [tokens] = await withTimeout(judge.deadlineMs, late, signal, (inner) =>
    abortable(judge.encoder.tokenize([text], judge.view()), inner),
  );
  if (tokens instanceof JudgeError) throw tokens;
  return tokens!.ids.length;
}
