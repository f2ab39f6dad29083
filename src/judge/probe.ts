// A text that is known to be readable, judged anew: nothing of it is kept, and no other run is joined.
import { JudgeError } from "../errors.js";
import { probabilities, requiredFeatures } from "../head/head.js";
import { prepareView } from "./prepare.js";
import type { Subject } from "./selftest.js";

type ProbeParts = Subject & Parameters<typeof prepareView>[0];

/** For checkpoints without a selftest. */
const plainText = "What is the capital of France?";

/** @returns a probe that throws what stands in the way of an answer */
export function createProbe(parts: ProbeParts): (signal: AbortSignal) => Promise<void> {
  const { checkpoint, encoder, multiply } = parts;
  const { head, selftest } = checkpoint;
  const text = selftest?.prompts[0]?.prompt ?? plainText;
  return async (signal) => {
    const options = { view: prepareView(parts), ...requiredFeatures(head), signal };
    const { encodings } = await encoder.encode([text], options);
    const [encoding] = encodings;
    if (encoding instanceof JudgeError) throw encoding;
    probabilities(head, encoding!.pooled, multiply);
  };
}
