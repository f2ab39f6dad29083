// The encoder process: tokenizer and session, one command at a time. It prints nothing.
import { performance } from "node:perf_hooks";
import { isDeepStrictEqual } from "node:util";
import { JudgeError } from "../../../errors.js";
import { encoderFault } from "../../encoder-fault.js";
import { hashEncoderFolder, stampEncoderFolder } from "../../folder.js";
import { endWithParent } from "../../process/end-with-parent.js";
import { garbageCollector } from "../../process/garbage-collector.js";
import { tokenizerFacts } from "../../tokenizer/facts.js";
import { tokenizeAll } from "../../tokenizer/tokenize-all.js";
import { createTokenizer } from "../../tokenizer/tokenizer.js";
import { packEncodings } from "../packed-encodings.js";
import type { Answer, Command, LoadCommand, Report, Work } from "../protocol.js";
import { toWire } from "../wire-error.js";
import { encodeBatch } from "./batch.js";
import { usableTokens } from "./context-limit.js";
import { readEncoderFolder } from "./folder.js";
import type { Padding } from "./padding.js";
import { loadSession, runtime } from "./session.js";
import { readWeights } from "./weights.js";

type Loaded = Awaited<ReturnType<typeof load>>;

let loaded: Loaded | undefined;
let queue = Promise.resolve();

async function load({ folder: path, files, threads, paddingSide }: LoadCommand) {
  const stamp = files && (await stampEncoderFolder(path));
  if (files !== null && !isDeepStrictEqual(await hashEncoderFolder(path), files)) throw changed();
  const folder = await readEncoderFolder(path);
  const tokenizer = createTokenizer(folder.tokenizer);
  const { session, weightHashes } = await loadModel(folder.modelFile, threads);
  // onnxruntime has its own copy of the weights, and a process that mostly waits would keep ours for long
  if (Object.keys(weightHashes).length > 0) garbageCollector()();
  if (files !== null) {
    const isAsHashed = Object.entries(weightHashes).every(([name, hash]) => files[name] === hash);
    if (!isAsHashed || (await stampEncoderFolder(path)) !== stamp) throw changed();
  }
  const padding: Padding = { side: paddingSide, padId: folder.padId };
  const maxTokens = await usableTokens(folder.maxTokens, (tokens) => session.runs(tokens, folder.padId));
  return { folder, tokenizer, session, weightHashes, maxTokens, padding, clock: () => performance.now() };
}

async function loadModel(modelFile: string, threads: number) {
  const weights = await readWeights(modelFile);
  const session = await loadSession(modelFile, threads, weights);
  return { session, weightHashes: Object.fromEntries(weights.map(({ path, hash }) => [path, hash])) };
}

/** A crash must not bring another model into service: the judges were tested with the first files. */
function changed(): JudgeError {
  return new JudgeError("encoder", {
    found: "the encoder's files have changed since the start",
    remedy: "reload the server to take them",
  });
}

function factsOf({ folder, tokenizer, session, weightHashes, maxTokens }: Loaded, threads: number): Report {
  return {
    kind: "loaded",
    facts: {
      hiddenSize: session.hiddenSize,
      layers: session.layers,
      maxTokens,
      ...(maxTokens < folder.maxTokens && { claimedTokens: folder.maxTokens }),
      ...tokenizerFacts(folder.tokenizer, tokenizer),
      device: "cpu",
      runtime,
      threads,
      weightHashes,
    },
  };
}

async function answer(work: Work): Promise<Answer> {
  if (loaded === undefined) throw new Error("work before load");
  if (work.kind === "tokenize") {
    return { kind: "tokenized", tokens: tokenizeAll(loaded.tokenizer, work.texts, work.view).map(toWire) };
  }
  const { encodings, milliseconds } = await encodeBatch(loaded, work.texts, work.view, work);
  return { kind: "encoded", encodings: packEncodings(encodings), milliseconds };
}

/** Nobody reads a log of this process: what is no error of ours is told by its kind. */
function faultOf(error: unknown): JudgeError {
  if (error instanceof JudgeError) return error;
  return encoderFault("the encoder's process failed", error).withCode("internal");
}

async function handle(command: Command): Promise<Report> {
  if (command.kind === "load") {
    try {
      loaded = await load(command);
      return factsOf(loaded, command.threads);
    } catch (error) {
      return { kind: "failed", error: toWire(faultOf(error)) };
    }
  }
  try {
    return { kind: "answer", id: command.id, answer: await answer(command.work) };
  } catch (error) {
    return { kind: "answer", id: command.id, answer: { kind: "refused", error: toWire(faultOf(error)) } };
  }
}

endWithParent();
process.on("message", (command: Command) => {
  queue = queue.then(async () => {
    const report = await handle(command);
    // a parent that has gone meanwhile is no fault: the channel's end ends this process
    if (process.connected) process.send!(report, () => {});
  });
});
