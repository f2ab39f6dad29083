// Texts → encodings inside the encoder process. One text's fault does not touch the others.
import { JudgeError } from "../../../errors.js";
import { faultOf, type PooledVectors, type WantedFeatures } from "../../../features/pooled.js";
import type { Encoding, Tokens } from "../../encoder.js";
import { encoderFault } from "../../encoder-fault.js";
import { tokenizeAll } from "../../tokenizer/tokenize-all.js";
import type { Tokenizer } from "../../tokenizer/tokenizer.js";
import type { View } from "../../view.js";
import type { EncodeWork } from "../protocol.js";
import type { Padding } from "./padding.js";
import type { OnnxSession } from "./session.js";

/** The longest text of a forward over its shortest. */
const maxPadding = 1.1;

export interface BatchResult {
  readonly encodings: (Encoding | JudgeError)[];
  readonly milliseconds: { readonly tokenize: number; readonly prefill: number };
}

export interface BatchParts {
  readonly tokenizer: Tokenizer;
  readonly session: OnnxSession;
  readonly padding: Padding;
  /** milliseconds, monotonic */
  readonly clock: () => number;
}

/** Encodes texts, shortest first; result order is that of `texts`. */
export async function encodeBatch(
  parts: BatchParts,
  texts: readonly string[],
  view: View,
  { wanted, maxBatchTokens }: Pick<EncodeWork, "wanted" | "maxBatchTokens">,
): Promise<BatchResult> {
  const started = parts.clock();
  const tokens = tokenizeAll(parts.tokenizer, texts, view);
  const tokenized = parts.clock();
  const encoded = new Map<number, Encoding | JudgeError>();
  const prefix = parts.tokenizer.sharedPrefix(view);
  const startsAlike = (row: number) => {
    const { ids } = tokens[row] as Tokens;
    return ids.length > prefix.length && prefix.every((id, index) => ids[index] === id);
  };
  const [alike, others]: [number[], number[]] = [[], []];
  tokens.forEach((entry, row) => {
    if (!(entry instanceof JudgeError)) (startsAlike(row) ? alike : others).push(row);
  });
  for (const [rows, ids] of [
    [alike, prefix],
    [others, []],
  ] as const) {
    for (const group of groupByLength(rows, tokens, maxBatchTokens)) {
      const grouped = group.map((row) => tokens[row] as Tokens);
      const results = await runRows(parts, grouped, wanted, ids);
      group.forEach((row, index) => {
        encoded.set(row, results[index]!);
      });
    }
  }
  const encodings = tokens.map((entry, row) => (entry instanceof JudgeError ? entry : encoded.get(row)!));
  return { encodings, milliseconds: { tokenize: tokenized - started, prefill: parts.clock() - tokenized } };
}

/** Indices of the texts by length, in groups that pad little and to at most maxBatchTokens. */
function groupByLength(
  rows: readonly number[],
  tokens: readonly (Tokens | JudgeError)[],
  maxBatchTokens: number,
): number[][] {
  const length = (row: number) => (tokens[row] as Tokens).ids.length;
  const groups: number[][] = [];
  for (const row of rows.toSorted((a, b) => length(a) - length(b))) {
    const group = groups.at(-1);
    const fits =
      group !== undefined &&
      (group.length + 1) * length(row) <= maxBatchTokens &&
      length(row) <= maxPadding * length(group[0]!);
    if (fits) group.push(row);
    else groups.push([row]);
  }
  return groups;
}

async function runRows(
  parts: BatchParts,
  rows: readonly Tokens[],
  wanted: WantedFeatures,
  prefix: readonly number[],
): Promise<(Encoding | JudgeError)[]> {
  try {
    const pooled = await parts.session.run(
      rows.map((row) => row.ids),
      wanted,
      parts.padding,
      prefix,
    );
    return rows.map((row, index) => checked(row, pooled[index]!));
  } catch (error) {
    if (rows.length === 1) return [encoderFault(findingOf(error), error)];
    const single: (Encoding | JudgeError)[] = [];
    for (const row of rows) single.push(...(await runRows(parts, [row], wanted, prefix)));
    return single;
  }
}

/** onnxruntime's message names the operator; what else it says may tell token ids. */
function findingOf(error: unknown): string {
  const operator = /while running ([A-Za-z]{1,40}) node/.exec(String(error))?.[1];
  return `the encoder failed on this text${operator === undefined ? "" : ` in an operator ${operator}`}`;
}

function checked(row: Tokens, pooled: PooledVectors): Encoding | JudgeError {
  for (const vector of pooled.values()) {
    const fault = faultOf(vector);
    if (fault !== null)
      return new JudgeError("encoder_error", { found: `the encoder gave a hidden state that is ${fault}` });
  }
  const { ids, ...found } = row;
  return { pooled, tokenCount: ids.length, ...found };
}
