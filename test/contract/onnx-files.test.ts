// Encoder folders in which something else stands in a file's place: the start is refused by the file's name,
// and ends.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createOnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { fixturePath } from "../support/fixtures.js";
import { rejection } from "../support/refusal.js";

const root = mkdtempSync(join(tmpdir(), "judge-encoder-files-"));
after(() => rmSync(root, { recursive: true }));

const kinds: Readonly<Record<string, (path: string) => void>> = {
  "a pipe, wanted a regular file": (path) => void execFileSync("mkfifo", [path]),
  "a folder, wanted a regular file": (path) => mkdirSync(path),
  "a device, wanted a regular file": (path) => symlinkSync("/dev/zero", path),
  "a link to a file that is missing": (path) => symlinkSync(join(root, "nowhere"), path),
};

for (const [name, kind] of [
  ["model.onnx", "a pipe, wanted a regular file"],
  ["model.onnx_data", "a pipe, wanted a regular file"],
  ["model.onnx", "a device, wanted a regular file"],
  ["tokenizer.json", "a pipe, wanted a regular file"],
  ["config.json", "a device, wanted a regular file"],
  ["chat_template.jinja", "a pipe, wanted a regular file"],
  ["tokenizer_config.json", "a folder, wanted a regular file"],
  ["generation_config.json", "a folder, wanted a regular file"],
  ["special_tokens_map.json", "a link to a file that is missing"],
] as const) {
  test(`${name} is ${kind}`, async () => {
    const folder = mkdtempSync(join(root, "encoder-"));
    cpSync(fixturePath("tiny-encoder"), folder, { recursive: true });
    rmSync(join(folder, name), { force: true });
    kinds[kind]!(join(folder, name));
    const encoder = createOnnxEncoder({
      id: "subject",
      modelName: null,
      folder,
      threads: 1,
      processes: 1,
      limits: { maxBatch: 1, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 1 },
      events: { up() {}, down() {} },
    });
    try {
      const { message } = await rejection("encoder", encoder.start());
      const remedy = "restore it from the encoder's original files";
      assert.ok(message.startsWith(`encoder subject: ${name} is ${kind}; ${remedy}`), message);
    } finally {
      await encoder.close();
    }
  });
}
