// Imports the tokenizer at the first call: it stands on onnxruntime, which not every system loads.
import { importNative } from "../process/native-fault.js";
import type { Tokenizer, TokenizerFiles } from "./tokenizer.js";

/** @throws JudgeError `encoder` as createTokenizer, and where onnxruntime cannot be loaded */
export async function loadTokenizer(files: TokenizerFiles): Promise<Tokenizer> {
  const { createTokenizer } = await importNative(() => import("./tokenizer.js"));
  return createTokenizer(files);
}
