// Many texts through a tokenizer: one that it cannot take fails alone.
import { JudgeError } from "../../errors.js";
import type { Tokens } from "../encoder.js";
import { encoderFault } from "../encoder-fault.js";
import type { View } from "../view.js";
import type { Tokenizer } from "./tokenizer.js";

/** The tokens of each text, or its own error. */
export function tokenizeAll(
  tokenizer: Tokenizer,
  texts: readonly string[],
  view: View,
): (Tokens | JudgeError)[] {
  return texts.map((text) => {
    try {
      return tokenizer.tokenize(text, view);
    } catch (error) {
      return error instanceof JudgeError ? error : encoderFault("the text cannot be tokenised", error);
    }
  });
}
