// The tiny encoder with a fault for each of its stages, which a text brings about by a word.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixturePath, readJson, tinyRows } from "../fixtures.js";
import { tinyConfig } from "../judge-server.js";

/** Words that make a stage fail on the text that holds them. */
export const faultWords = {
  /** the chat template raises an error that quotes the whole text */
  template: "<raise>",
  /** a token id that the model has no embedding for: the session throws */
  session: "<poison>",
  /** a token whose embedding is not a number: the hidden state is not finite */
  hiddenState: "~",
} as const;

/** Writes the encoder to a new folder. */
export function writeFaultyEncoder(): string {
  const folder = mkdtempSync(join(tmpdir(), "judge-faulty-"));
  cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
  const edit = (name: string, change: (bytes: Buffer) => Buffer | string) => {
    const path = join(folder, name);
    writeFileSync(path, change(readFileSync(path)));
  };
  const content = "messages[0]['content']";
  edit(
    "chat_template.jinja",
    (bytes) =>
      `{% if '${faultWords.template}' in ${content} %}{{ raise_exception('bad: ' + ${content}) }}{% endif %}${bytes}`,
  );
  edit("tokenizer.json", (bytes) => {
    const tokenizer = JSON.parse(bytes.toString());
    const flags = { special: false, single_word: false, lstrip: false, rstrip: false, normalized: false };
    tokenizer.added_tokens.push({ id: 5000, content: faultWords.session, ...flags });
    return JSON.stringify(tokenizer);
  });
  edit("model.onnx", breakEmbedding);
  return folder;
}

/** The usual configuration of the tests on such an encoder. */
export function faultyConfig(folder: string): string {
  return tinyConfig.replace(fixturePath("tiny-encoder"), folder);
}

/** The last token of the reference row has its embedding for layer 0: from there the others are counted. */
function breakEmbedding(model: Buffer): Buffer {
  const { input_ids: ids, last } = tinyRows()[0]!;
  const known = Float32Array.from(last["0"]!);
  const at = model.indexOf(Buffer.from(known.buffer));
  const { model: tokens } = readJson<{ model: { vocab: Record<string, number> } }>(
    fixturePath("tiny-encoder/tokenizer.json"),
  );
  const row = tokens.vocab[faultWords.hiddenState]! - ids.at(-1)!;
  if (at < 0) throw new Error("the embedding was not found in model.onnx");
  model.writeFloatLE(Number.NaN, at + row * known.byteLength);
  return model;
}
