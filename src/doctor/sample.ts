// The time of one warm request without HTTP, by stage, as `doctor` reports it.

import { faultObservation, type Observation, observation } from "../encoder/observation.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { calibrate, probabilities, requiredFeatures } from "../head/head.js";
import type { Judge } from "../judge/judge-parts.js";

const sample =
  "A train leaves at 9:40 and needs 2 hours and 35 minutes for 310 km. When does it arrive, and how fast is it on average? Explain each step.";

/** @param deadlineMs of a request */
export async function sampleObservation(judge: Judge, view: View, deadlineMs: number): Promise<Observation> {
  try {
    await judgeSample(judge, view);
    const { tokens, milliseconds } = await judgeSample(judge, view);
    const { tokenize, prefill, head, total } = milliseconds;
    const found = `${tokens} tokens, warm, in ms: tokenize ${ms(tokenize)}, prefill ${ms(prefill)}, head ${ms(head)}, total ${ms(total)}`;
    const values = { tokens, milliseconds };
    if (total <= deadlineMs / 2) return observation("sample", "ok", { found, values });
    const advice = `runtime.deadline_ms is ${deadlineMs}: raise it, with the router's own timeout, or give the encoder more`;
    return observation("sample", "warning", { found, advice, values });
  } catch (error) {
    return faultObservation("sample", asJudgeError(error));
  }
}

async function judgeSample({ checkpoint, encoder }: Judge, view: View) {
  const { head } = checkpoint;
  const started = performance.now();
  const { encodings, milliseconds } = await encoder.encode([sample], { view, ...requiredFeatures(head) });
  const [encoding] = encodings;
  if (encoding instanceof JudgeError) throw encoding;
  const encoded = performance.now();
  calibrate(head, probabilities(head, encoding!.pooled));
  const ended = performance.now();
  const stages = { ...milliseconds, head: ended - encoded, total: ended - started };
  return { tokens: encoding!.tokenCount, milliseconds: stages };
}

function ms(value: number): string {
  return value.toFixed(1);
}
