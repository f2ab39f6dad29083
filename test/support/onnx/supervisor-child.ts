// A process that speaks the encoder protocol without a model; supervised.ts starts it. Its first argument
// says how it behaves, a work's first text what happens to that work. Its answers name the launch and the
// works it has received.
import type { Command, Report } from "../../../src/encoder/onnx/protocol.js";

const [mode, launch] = process.argv.slice(2);
let received = 0;
const send = (report: Report) => process.send!(report);

process.on("message", (command: Command) => {
  if (command.kind === "load") {
    if (mode === "exits") process.exit(3);
    if (mode === "refuses") {
      send({ kind: "failed", error: { code: "encoder", found: "model.onnx is damaged" } });
    } else if (mode !== "silent") {
      const { threads } = command;
      const templateTokens = { none: 2, chat: 5 };
      const facts = { hiddenSize: 4, layers: [0, 1], maxTokens: 9, chatTemplateHash: null, templateTokens };
      send({ kind: "loaded", facts: { ...facts, device: "cpu", threads, weightHashes: {} } });
    }
    return;
  }
  const { id, work } = command;
  const [text] = work.texts;
  received++;
  const ids = [Number(launch), received];
  const answer = () =>
    send({ kind: "answer", id, answer: { kind: "tokenized", tokens: [{ ids, truncated: false }] } });
  if (text === "kill" || mode === "frail") process.kill(process.pid, "SIGKILL");
  else if (text === "slow") setTimeout(answer, 60);
  else if (text !== "hang") answer();
});
process.on("disconnect", () => process.exit(0));
