// Makes checkpoints/*/selftest.json from the reference rows of test/fixtures/parity, never from our own
// output.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packagePath, parityRows } from "./fixtures.js";

/** Rows of different length, script and kind. They are short, since they run at every start. */
const chosenRows = [0, 5, 8, 9, 16, 38];
const fileNames = [
  "router.json",
  "router.safetensors",
  "encoder/model.onnx",
  "encoder/tokenizer.json",
  "encoder/tokenizer_config.json",
  "encoder/config.json",
];
export const selftests = [
  { checkpoint: "smollm2-135m", tolerance: 1e-4 },
  { checkpoint: "minilm-l6", tolerance: 2e-3 },
] as const;

/** The content of selftest.json. */
export function makeSelftest({ checkpoint, tolerance }: (typeof selftests)[number]): string {
  const rows = parityRows(checkpoint);
  const sha256 = (name: string) =>
    createHash("sha256")
      .update(readFileSync(packagePath(`checkpoints/${checkpoint}/${name}`)))
      .digest("hex");
  const content = {
    format_version: 1,
    reference: "onnxruntime 1.32 and numpy in Python",
    tolerance,
    files: Object.fromEntries(fileNames.map((name) => [name, sha256(name)])),
    prompts: chosenRows.map((row) => {
      const { prompt, input_ids, raw } = rows[row]!;
      return { prompt, input_ids, probabilities: raw };
    }),
  };
  return `${JSON.stringify(content, null, 1)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const selftest of selftests) {
    writeFileSync(packagePath(`checkpoints/${selftest.checkpoint}/selftest.json`), makeSelftest(selftest));
  }
}
