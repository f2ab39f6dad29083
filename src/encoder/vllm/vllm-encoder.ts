// The encoder port for a vLLM server: tokens are made here, hidden states come back in files.
import { linked } from "../../abort.js";
import { JudgeError } from "../../errors.js";
import type { WantedFeatures } from "../../features/pooled.js";
import type { EncodeOptions, Encoder, EncoderFacts, Encoding, Tokens } from "../encoder.js";
import { encoderFault } from "../encoder-fault.js";
import { hashEncoderFolder, hashOf, readTokenizerFolder } from "../folder.js";
import { overloaded } from "../overloaded.js";
import { tokenizerFacts } from "../tokenizer/facts.js";
import { loadTokenizer } from "../tokenizer/load.js";
import { shorten } from "../tokenizer/shorten.js";
import { tokenizeAll } from "../tokenizer/tokenize-all.js";
import type { Tokenizer } from "../tokenizer/tokenizer.js";
import type { View } from "../view.js";
import { orderWarning } from "./captured-order.js";
import { createClient } from "./client.js";
import { checkFolder } from "./folder-check.js";
import { takeFile } from "./hidden-state-file.js";
import { createHiddenStateReader, type HiddenStates, largestFile } from "./hidden-states.js";
import { createLimiter } from "./limiter.js";
import type { VllmEncoderParts } from "./parts.js";
import { createProbe } from "./probe.js";
import { type Sweeper, startSweeper } from "./sweep.js";
import { createWorkSlices } from "./work-slices.js";

const probeText = "Hi";
const probeView: View = { template: "none", maxTokens: 64, truncation: "right" };

export function createVllmEncoder(parts: VllmEncoderParts): Encoder {
  const { id, events, hiddenStatesRoot } = parts;
  const client = createClient(parts);
  const limiter = createLimiter(parts.maxInFlight, parts.queueLimit);
  const slices = createWorkSlices();
  const reader = createHiddenStateReader(slices);
  const calls = new Set<AbortController>();
  const captured = parts.capturedLayers.map((layer) => layer + parts.layerOffset);
  let tokenizer: Tokenizer | undefined;
  let facts: EncoderFacts | undefined;
  let sweeper: Sweeper | undefined;
  let isClosed = false;
  const warned = new Set<string>();
  /** user ids of the files that the server's answers named */
  const owners = new Set<number>();

  /** Each once: what is wrong with a folder is wrong again with the next file. */
  const warn = (finding: string) => {
    if (!warned.has(finding)) events.warning(finding);
    warned.add(finding);
  };
  const closed = () => new JudgeError("encoder_down", { found: `encoder ${id} is not running` });

  async function prefill(
    ids: readonly number[],
    wanted: WantedFeatures,
    signal: AbortSignal,
  ): Promise<HiddenStates> {
    const expected = { ids, captured, hiddenSize: facts?.hiddenSize ?? null };
    const path = await client.prefill(ids, signal);
    const rules = {
      root: hiddenStatesRoot,
      timeoutMs: parts.fileTimeoutMs,
      maxBytes: largestFile(expected),
      onLeftBehind: (code: string) => warn(`a hidden-state file cannot be removed (${code})`),
    };
    return await takeFile(path, rules, signal, async (file) => {
      const states = await reader.read(file, expected, wanted, signal);
      owners.add(file.owner);
      return states;
    });
  }

  /** Each text in a slice of its own. */
  async function tokenizeInSlices(texts: readonly string[], view: View): Promise<(Tokens | JudgeError)[]> {
    const entries = texts.map((text) => slices.take(() => tokenizeAll(tokenizer!, [text], view)));
    return (await Promise.all(entries)).flat();
  }

  /** Runs `work` with a signal that follows `outer` and this encoder's end. */
  function call<T>(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return linked(outer, async (controller) => {
      if (isClosed) throw closed();
      calls.add(controller);
      return await work(controller.signal).finally(() => calls.delete(controller));
    });
  }

  const probe = createProbe({
    retryMs: parts.retryMs,
    look: async () => {
      const [tokens] = tokenizeAll(tokenizer!, [probeText], probeView);
      if (tokens instanceof JudgeError) throw tokens;
      const wanted: WantedFeatures = { layers: captured, pooling: ["last"] };
      return await call(undefined, (signal) => prefill(tokens!.ids, wanted, signal));
    },
    up: (how) => events.up({ device: "vllm" }, how),
    down: (reason) => events.down({ code: null, signal: null, retryMs: parts.retryMs, reason }),
  });

  async function encodeTokens(
    entry: Tokens | JudgeError,
    options: EncodeOptions,
    signal: AbortSignal,
  ): Promise<Encoding | JudgeError> {
    if (entry instanceof JudgeError) return entry;
    const { expiresAt, isBulk = () => false } = options;
    const work = async () => {
      if (expiresAt !== undefined && expiresAt() <= performance.now()) throw overloaded();
      return await prefill(entry.ids, options, signal);
    };
    try {
      const { pooled } = await limiter.run(work, signal, { isPatient: expiresAt === undefined, isBulk });
      const { ids, ...found } = entry;
      return { pooled, tokenCount: ids.length, ...found };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof JudgeError)) {
        return encoderFault("the encoder failed on this text", error);
      }
      if (error.code === "encoder_down") probe.suspect();
      return error;
    }
  }

  async function load(): Promise<EncoderFacts> {
    const layerDoubt = orderWarning(parts.capturedLayers);
    for (const warning of [await checkFolder(hiddenStatesRoot), layerDoubt]) {
      if (warning !== null) warn(warning.message);
    }
    const [folder, files] = await Promise.all([
      readTokenizerFolder(parts.folder),
      hashEncoderFolder(parts.folder),
    ]);
    tokenizer = await loadTokenizer(folder.tokenizer);
    const { hiddenSize } = await probe.start();
    const models = await call(undefined, client.models);
    const context = models.find((model) => model.id === parts.servedModel)?.contextLength;
    // The last of Transformers' hidden states is normalised; the server captures it before the norm.
    const isNormalised = (layer: number) => layer < (folder.blockCount ?? Number.POSITIVE_INFINITY);
    const unnormalisedLayers = captured.filter((layer) => !isNormalised(layer));
    const settings = ["vllm", parts.servedModel, captured.join(",")].map((setting) => `${setting}\n`);
    return {
      hiddenSize,
      layers: captured.filter(isNormalised).sort((a, b) => a - b),
      unnormalisedLayers,
      ...(layerDoubt && { layerDoubt }),
      // one place is the generated token's
      maxTokens: Math.min(folder.maxTokens, context ?? Number.POSITIVE_INFINITY) - 1,
      ...tokenizerFacts(folder.tokenizer, tokenizer),
      device: "vllm",
      threads: 1,
      processes: 1,
      files,
      hash: hashOf(files, settings),
    };
  }

  return {
    id,
    modelName: parts.modelName,
    get up() {
      return probe.up;
    },
    get facts() {
      if (facts === undefined)
        throw new JudgeError("encoder_down", { found: `encoder ${id} has not been started` });
      return facts;
    },
    async start() {
      try {
        facts = await load();
      } catch (error) {
        throw error instanceof JudgeError ? error.within(`encoder ${id}`).withCode("encoder") : error;
      }
      if (isClosed) throw closed();
      sweeper = startSweeper({
        root: hiddenStatesRoot,
        intervalMs: parts.sweepIntervalMs,
        staleMs: parts.staleMs,
        owners,
        onRemoved: events.swept,
        onError: (code) => warn(`stale hidden-state files cannot be removed (${code})`),
      });
    },
    async encode(texts, options) {
      options.signal?.throwIfAborted();
      if (!probe.up) throw closed();
      const started = performance.now();
      const shortened = shorten(texts, options.view);
      const tokens = await tokenizeInSlices(shortened.texts, options.view);
      const tokenized = performance.now();
      const encodings = await call(options.signal, (signal) =>
        Promise.all(tokens.map((entry) => encodeTokens(entry, options, signal))),
      );
      return {
        encodings: encodings.map(shortened.flag),
        milliseconds: { tokenize: tokenized - started, prefill: performance.now() - tokenized },
      };
    },
    async tokenize(texts, view) {
      if (tokenizer === undefined) throw closed();
      const shortened = shorten(texts, view);
      return (await tokenizeInSlices(shortened.texts, view)).map(shortened.flag);
    },
    async close() {
      isClosed = true;
      probe.close();
      for (const controller of calls) controller.abort(closed());
      client.close();
      await sweeper?.stop();
    },
  };
}
