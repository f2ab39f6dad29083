// Whether an encoder can read texts in a view at all, asked before anything depends on it.
import { JudgeError } from "../errors.js";
import type { Encoder } from "./encoder.js";
import type { View } from "./view.js";

/** @throws JudgeError `encoder` with what is wrong, such as a chat template that fails or prints the date */
export async function checkView(encoder: Pick<Encoder, "id" | "tokenize">, view: View): Promise<void> {
  const [tokens] = await encoder.tokenize(["Hello"], view);
  if (tokens instanceof JudgeError) throw tokens.within(`encoder ${encoder.id}`).withCode("encoder");
}
