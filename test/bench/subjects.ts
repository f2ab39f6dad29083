// The embedded judges as the benchmark needs them: their model file, the outputs they read, and the token ids
// of a text by the project's own tokenizer.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { loadConfig } from "../../src/config/config.js";
import { modelFileName } from "../../src/encoder/folder.js";
import { readEncoderFolder } from "../../src/encoder/onnx/child/folder.js";
import { createTokenizer } from "../../src/encoder/tokenizer/tokenizer.js";
import type { View } from "../../src/encoder/view.js";
import { requiredFeatures } from "../../src/head/head.js";
import { packageRoot } from "../support/fixtures.js";

export interface Subject {
  readonly judge: string;
  readonly modelFile: string;
  /** names of the model's outputs that the head needs */
  readonly outputs: readonly string[];
  /** the ids that the server runs for a text, template included */
  tokenIds(text: string): readonly number[];
}

/** The judges that are served without a configuration file, and the threads they get. */
export async function loadSubjects(): Promise<{ subjects: Subject[]; threads: number }> {
  const config = loadConfig({ env: {}, flags: {}, packageRoot: fileURLToPath(packageRoot) });
  const subjects = config.judges.map(async (judge): Promise<Subject> => {
    const { path } = config.encoders.find((encoder) => encoder.id === judge.encoder)!;
    const { head } = await loadCheckpoint(judge.checkpoint);
    const folder = await readEncoderFolder(path);
    const tokenizer = createTokenizer(folder.tokenizer);
    const view: View = {
      template: folder.tokenizer.chatTemplate === null ? "none" : "chat",
      maxTokens: folder.maxTokens,
      truncation: "middle",
    };
    return {
      judge: judge.id,
      modelFile: join(path, modelFileName),
      outputs: requiredFeatures(head).layers.map((layer) => `hidden_states.${layer}`),
      tokenIds: (text) => tokenizer.tokenize(text, view).ids,
    };
  });
  return { subjects: await Promise.all(subjects), threads: config.runtime.threads };
}
