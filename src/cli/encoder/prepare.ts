// `encoder prepare`: an encoder's folder out of a public export, which gives logits and keeps all blocks.
import { createHash } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Config } from "../../config/config.js";
import type { Encoder, Encoding } from "../../encoder/encoder.js";
import { JudgeError } from "../../errors.js";
import { poolingModes } from "../../features/pooling.js";
import { cutGraph } from "../../prepare/cut.js";
import { type ModelFolder, readModelFolder } from "../../prepare/model-folder.js";
import { modelParts } from "../../prepare/model-parts.js";
import { composeEncoder } from "../../server/encoders.js";
import { startEncoder } from "../../server/load-step.js";
import { commandRuntime } from "../chosen-judges.js";
import type { Terminal } from "../terminal.js";

export interface PrepareOptions {
  readonly input: string;
  readonly output: string;
  /** 0 = embeddings */
  readonly layers: readonly number[];
  readonly file?: string | undefined;
  readonly source?: string | undefined;
}

/** Of a usual value: the same graph, cut, differs by the order of its sums at most. */
const admitted = 1e-4;
const prompts = [
  "Which planet is the largest?",
  "Write a function that adds two numbers, and explain in two sentences what it does and why.",
];

/**
 * @throws JudgeError `usage` for a model that cannot be cut; `encoder` for one that does not run, or gives
 *   something else once it is cut. Nothing is left then.
 */
export async function prepare(config: Config, options: PrepareOptions, terminal: Terminal): Promise<void> {
  const output = resolve(options.output);
  await refuseExisting(output);
  const source = await readModelFolder(resolve(options.input), options.file);
  const { layers } = options;
  const { sizes } = source;
  const { graph, available } = cutGraph(source.model, { layers, sizes });
  const whole = cutGraph(source.model, { layers, sizes, keepsAll: true });
  await mkdir(dirname(output), { recursive: true });
  const work = await mkdtemp(join(dirname(output), ".prepare-"));
  try {
    const [made, probe] = [join(work, "encoder"), join(work, "source")];
    const hashes = await writeEncoder(made, source, graph);
    await writeFile(
      join(made, "prepared.json"),
      preparedText(source, options, { available, hashes }, terminal),
    );
    await writeEncoder(probe, source, whole.graph);
    const differences = await compare(config, made, probe);
    await rename(made, output);
    terminal.print(`${output}: hidden states ${layers.join(", ")} of 0 to ${available - 1}`);
    for (const [key, difference] of differences)
      terminal.print(
        `${key}: differs from the source by ${difference.toExponential(1)} of its length at most`,
      );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function refuseExisting(output: string): Promise<void> {
  const there = await stat(output).catch(() => null);
  if (there !== null)
    throw new JudgeError("usage", {
      found: `${output} is there already`,
      remedy: "name a folder that is not",
    });
}

/** @returns SHA-256 (hex) of the model's files, by name */
async function writeEncoder(
  folder: string,
  { model, path, beside }: ModelFolder,
  graph: ModelFolder["model"]["graph"],
): Promise<Record<string, string>> {
  await mkdir(folder);
  for (const [name, bytes] of Object.entries(beside)) await writeFile(join(folder, name), bytes);
  const hashes = new Map<string, ReturnType<typeof createHash>>();
  for await (const { name, bytes } of modelParts({ ...model, graph }, path)) {
    await appendFile(join(folder, name), bytes);
    hashes.set(name, (hashes.get(name) ?? createHash("sha256")).update(bytes));
  }
  return Object.fromEntries([...hashes].map(([name, hash]) => [name, hash.digest("hex")]));
}

/** What the folder was made of, for whoever must know. */
function preparedText(
  { file, hashes: sourceHashes, beside }: ModelFolder,
  { input, source = basename(resolve(input)), layers }: PrepareOptions,
  { available, hashes }: { available: number; hashes: Record<string, string> },
  { version }: Terminal,
): string {
  const licences = Object.keys(beside).filter((name) => /^(LICEN|NOTICE)/.test(name));
  const facts = {
    prepared_by: `prefill-judge ${version}`,
    source: { model: source, file, sha256: sourceHashes, licence_files: licences },
    layers,
    available_layers: available,
    precision: "keep",
    sha256: hashes,
  };
  return `${JSON.stringify(facts, null, 2)}\n`;
}

/** The largest difference by layer and pooling mode. */
async function compare(config: Config, made: string, probe: string): Promise<Map<string, number>> {
  const wanted = await encode(config, probe, "the source");
  const found = await encode(config, made, "the prepared model");
  const largest = new Map<string, number>();
  found.forEach(({ pooled }, index) => {
    for (const [key, vector] of pooled) {
      const difference = relativeDifference(vector, wanted[index]!.pooled.get(key)!);
      largest.set(key, Math.max(largest.get(key) ?? 0, difference));
      if (difference <= admitted) continue;
      throw new JudgeError("encoder", {
        found: `the prepared model gives other hidden states (${key}) than the source: they differ by ${difference.toExponential(1)} of their length`,
        remedy: "report the model: its graph was cut in a wrong place",
      });
    }
  });
  return largest;
}

async function encode(config: Config, folder: string, name: string): Promise<readonly Encoding[]> {
  const encoder = composeEncoder(
    { id: name, type: "onnx", path: folder, model: null },
    commandRuntime(config),
  );
  try {
    await startEncoder(encoder, { timeoutMs: config.runtime.loadTimeoutMs });
    return await encodePrompts(encoder);
  } finally {
    await encoder.close();
  }
}

async function encodePrompts(encoder: Encoder): Promise<Encoding[]> {
  const { layers, maxTokens } = encoder.facts;
  const view = { template: "none", maxTokens: Math.min(maxTokens, 256), truncation: "right" } as const;
  const { encodings } = await encoder.encode(prompts, { view, layers, pooling: poolingModes });
  return encodings.map((encoding) => {
    if (encoding instanceof JudgeError) throw encoding.within(encoder.id).withCode("encoder");
    return encoding;
  });
}

function relativeDifference(found: Float32Array, wanted: Float32Array): number {
  let [squares, length] = [0, 0];
  found.forEach((value, index) => {
    squares += (value - wanted[index]!) ** 2;
    length += wanted[index]! ** 2;
  });
  return length === 0 ? Number.POSITIVE_INFINITY : Math.sqrt(squares / length);
}
