// Reads a file of costs for the commands, TOML or JSON, and applies it to the outputs of a label file.
import { parse as parseToml, TomlError } from "smol-toml";
import { hint } from "../../config/explain.js";
import type { Encoder } from "../../encoder/encoder.js";
import { JudgeError } from "../../errors.js";
import { quantile } from "../../evaluate/bootstrap.js";
import { type Costs, type GivenCosts, parseCosts, requestCosts } from "../../evaluate/costs.js";
import { startsAsObject } from "../../labels/file-form.js";
import { quoted } from "../../labels/label-record.js";
import type { Labels } from "../../labels/labels.js";
import { inFile, readText } from "../../labels/read-text.js";

export interface CostsFile {
  readonly file: string;
  readonly given: GivenCosts;
}

/** What costs are wanted of. */
export interface CostsWanted {
  readonly outputs: readonly string[];
  /** outputs that may have a cost, these among them */
  readonly known: readonly string[];
  readonly labels: Labels;
  /** judged texts whose tokens are counted where prices are of tokens */
  readonly texts: readonly string[];
}

/** Texts that are tokenised together. */
const batchSize = 64;

/** @throws JudgeError `usage` naming the file and the first fault */
export async function readCosts(file: string): Promise<CostsFile> {
  const content = await readText(file);
  return { file, given: inFile(file, () => parseCosts(parseContent(file, content))) };
}

/**
 * The cost of a request by output; prices are multiplied with the median tokens of prompts and labels.
 * @param encoder started
 * @throws JudgeError `usage` naming the file and an output that lacks a cost or is none
 */
export async function applyCosts(
  { file, given }: CostsFile,
  { outputs, known, labels, texts }: CostsWanted,
  encoder: Encoder,
): Promise<Exclude<Costs, null>> {
  for (const output of given.byOutput.keys()) {
    if (known.includes(output)) continue;
    throw new JudgeError("usage", {
      found: `${file}: no output is named ${quoted(output)}${hint(output, known)}`,
    });
  }
  const answer = new Map(labels.outputNames.map((name, index) => [name, labels.medianOutputTokens[index]!]));
  const prompt = given.kind === "tokens" ? await medianTokens(encoder, texts) : 0;
  return inFile(file, () => requestCosts(given, outputs, { prompt, answer }));
}

async function medianTokens(encoder: Encoder, texts: readonly string[]): Promise<number> {
  const view = { template: "none", maxTokens: encoder.facts.maxTokens, truncation: "right" } as const;
  const counts: number[] = [];
  for (let start = 0; start < texts.length; start += batchSize) {
    const tokens = await encoder.tokenize(texts.slice(start, start + batchSize), view);
    for (const result of tokens) if (!(result instanceof JudgeError)) counts.push(result.ids.length);
  }
  return counts.length === 0 ? 0 : quantile(Float64Array.from(counts).sort(), 0.5);
}

function parseContent(file: string, content: string): unknown {
  const isJson = /\.json$/i.test(file) || startsAsObject(content);
  try {
    return isJson ? JSON.parse(content) : parseToml(content);
  } catch (error) {
    // the parsers' own messages quote the text
    const place =
      error instanceof TomlError ? `line ${error.line}, column ${error.column}: not TOML` : "not JSON";
    throw new JudgeError("usage", { found: place, remedy: "a file of costs is TOML or JSON", cause: error });
  }
}
