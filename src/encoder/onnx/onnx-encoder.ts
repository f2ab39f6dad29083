// The ONNX adapter of the encoder port: the half in the server. Models run in processes of their own.
import { JudgeError } from "../../errors.js";
import type { BatchLimits, Encoder, EncoderFacts } from "../encoder.js";
import { hashEncoderFolder, hashOf, modelFileName, stampEncoderFolder } from "../folder.js";
import { limitWarning } from "../limit-warning.js";
import { shorten } from "../tokenizer/shorten.js";
import { createBatcher } from "./batching/batcher.js";
import { unpackEncodings } from "./packed-encodings.js";
import { createProcesses } from "./processes.js";
import type { Answer, LoadedFacts, Work } from "./protocol.js";
import { spawnEncoder } from "./spawn.js";
import { createSupervisor } from "./supervisor.js";
import type { Down } from "./supervisor-parts.js";
import { fromWire } from "./wire-error.js";

/** Of each process; `process` is its number, from 1, where there are several. */
export interface OnnxEvents {
  up(facts: LoadedFacts, how: { restarts: number; loadMs: number; process: number | null }): void;
  down(how: Down & { readonly process: number | null }): void;
  /** of a model that works otherwise than its files say; absent: nobody is told */
  warning?(finding: string): void;
  /** a run of so many texts begins; absent: nobody counts them */
  run?(texts: number): void;
}

export interface OnnxEncoderParts {
  readonly id: string;
  readonly modelName: string | null;
  /** folder with model.onnx and tokenizer files */
  readonly folder: string;
  /** intra-op threads of each process */
  readonly threads: number;
  /** encoder processes, each with the model in its memory */
  readonly processes: number;
  readonly limits: BatchLimits;
  readonly events: OnnxEvents;
  readonly backOffMs?: readonly number[];
  /** which side a batch is padded on; `right` is exact for every causal export */
  readonly paddingSide?: "left" | "right";
}

export interface OnnxEncoder extends Encoder {
  /** process ids of the encoder processes that run */
  readonly pids: readonly number[];
}

export function createOnnxEncoder(parts: OnnxEncoderParts): OnnxEncoder {
  let facts: EncoderFacts | undefined;
  const supervise = (_: unknown, index: number) => {
    const process = parts.processes === 1 ? null : index + 1;
    return createSupervisor({
      spawn: spawnEncoder,
      load: () => ({
        kind: "load",
        folder: parts.folder,
        threads: parts.threads,
        paddingSide: parts.paddingSide ?? "right",
        files: facts?.files ?? null,
      }),
      events: {
        up(facts, how) {
          parts.events.up(facts, { ...how, process });
          batcher.wake();
        },
        down(how) {
          parts.events.down({ ...how, process });
          if (how.wasLoading && processes.upCount === 0 && !processes.loading) batcher.giveUp();
        },
      },
      ...(parts.backOffMs && { backOffMs: parts.backOffMs }),
    });
  };
  const processes = createProcesses(Array.from({ length: parts.processes }, supervise));

  const expect = <K extends Answer["kind"]>(answer: Answer, kind: K) => {
    if (answer.kind === "refused") throw new JudgeError(answer.error.code, answer.error);
    if (answer.kind !== kind)
      throw new JudgeError("internal", { found: "the encoder process gave another kind of answer" });
    return answer as Extract<Answer, { kind: K }>;
  };
  const batcher = createBatcher({
    limits: parts.limits,
    async run(work) {
      parts.events.run?.(work.texts.length);
      const { encodings, milliseconds } = expect(await processes.run(work), "encoded");
      return { encodings: unpackEncodings(encodings), milliseconds };
    },
    runs: () => processes.upCount,
    templateTokens: ({ template }) => facts?.templateTokens[template] ?? 0,
    clock: () => performance.now(),
  });

  /** The files are hashed while the processes read them: they must be the same ones. */
  async function load(): Promise<EncoderFacts> {
    const stamp = await stampEncoderFolder(parts.folder);
    const [{ weightHashes, ...loaded }, files] = await Promise.all([
      processes.start(),
      hashEncoderFolder(parts.folder),
    ]);
    const isAsHashed = Object.entries(weightHashes).every(([name, hash]) => files[name] === hash);
    const weightFiles = [modelFileName, ...Object.keys(weightHashes)];
    if (isAsHashed && (await stampEncoderFolder(parts.folder)) === stamp)
      return { ...loaded, processes: parts.processes, files, weightFiles, hash: hashOf(files) };
    throw new JudgeError("encoder", {
      found: "its files changed while they were read",
      remedy: "try again when they are whole",
    });
  }

  const encoder: OnnxEncoder = {
    id: parts.id,
    modelName: parts.modelName,
    get up() {
      return processes.upCount > 0;
    },
    get fault() {
      if (processes.upCount > 0) return null;
      return new JudgeError("encoder_down", { found: `no process of encoder ${parts.id} runs` });
    },
    get scope() {
      return facts?.hash ?? "";
    },
    get pids() {
      return processes.pids;
    },
    get facts() {
      if (facts === undefined)
        throw new JudgeError("encoder_down", { found: `encoder ${parts.id} has not been started` });
      return facts;
    },
    async start() {
      facts = await load().catch((error) => {
        throw error instanceof JudgeError ? error.within(`encoder ${parts.id}`) : error;
      });
      const limit = limitWarning(facts);
      if (limit !== null) parts.events.warning?.(limit);
    },
    // a process that is started again loads the same files, or ends
    async admit(proof) {
      await proof(encoder);
      return () => {};
    },
    async encode(texts, options) {
      const shortened = shorten(texts, options.view);
      const { encodings, milliseconds } = await batcher.encode(shortened.texts, options);
      return { encodings: encodings.map(shortened.flag), milliseconds };
    },
    async tokenize(texts, view) {
      const shortened = shorten(texts, view);
      const work: Work = { kind: "tokenize", texts: shortened.texts, view };
      const { tokens } = expect(await batcher.errand(() => processes.run(work)), "tokenized");
      return tokens.map(fromWire).map(shortened.flag);
    },
    async close() {
      const closing = processes.close();
      batcher.giveUp();
      await closing;
    },
  };
  return encoder;
}
