// What an encoder's facts say of its tokenizer.
import { createHash } from "node:crypto";
import type { EncoderFacts } from "../encoder.js";
import type { Tokenizer, TokenizerFiles } from "./tokenizer.js";

export function tokenizerFacts(
  { chatTemplate }: TokenizerFiles,
  tokenizer: Tokenizer,
): Pick<EncoderFacts, "chatTemplateHash" | "templateTokens"> {
  return {
    chatTemplateHash: chatTemplate && createHash("sha256").update(chatTemplate).digest("hex"),
    templateTokens: {
      none: tokenizer.templateSize("none"),
      chat: chatTemplate === null ? 0 : tokenizer.templateSize("chat"),
    },
  };
}
