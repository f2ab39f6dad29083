// An encoder whose process is busy for minutes: prints its process id, for whoever ends this one.
import { createOnnxEncoder } from "../../../src/encoder/onnx/onnx-encoder.js";
import { fixturePath } from "../fixtures.js";

const encoder = createOnnxEncoder({
  id: "subject",
  modelName: null,
  folder: fixturePath("tiny-encoder"),
  threads: 1,
  processes: 1,
  limits: { maxBatch: 1, maxBatchTokens: 1024, maxWaitMs: 0, queueLimit: 1 },
  events: { up() {}, down() {} },
});
await encoder.start();
const texts: string[] = new Array(100_000).fill("What is 7326 - 147? ".repeat(20));
void encoder.tokenize(texts, { template: "chat", maxTokens: 512, truncation: "middle" }).catch(() => {});
process.stdout.write(`${encoder.pids[0]}\n`);
