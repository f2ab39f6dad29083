// Texts → encodings inside the encoder process: tokenises, groups into batches, runs, and keeps one text's fault
// from touching the others.
import { asJudgeError, JudgeError } from "../../errors.js";
import type { Encoding, Tokens, View } from "../encoder.js";
import type { OnnxSession, Padding, Wanted } from "./session.js";
import type { Tokenizer } from "./tokenizer.js";

/** Padded tokens of one forward; bounds its memory. */
const maxBatchTokens = 4096;
/** The longest text of a forward over its shortest. */
const maxPadding = 1.25;

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

/** The tokens of each text, or its own error. */
export function tokenizeAll(
  tokenizer: Tokenizer,
  texts: readonly string[],
  view: View,
): (Tokens | JudgeError)[] {
  return texts.map((text) => {
    try {
      return tokenizer.tokenize(text, view);
    } catch (error) {
      return error instanceof JudgeError
        ? error
        : new JudgeError("encoder_error", "the text cannot be tokenised", { cause: error });
    }
  });
}

/** Encodes texts, shortest first; result order is that of `texts`. */
export async function encodeBatch(
  parts: BatchParts,
  texts: readonly string[],
  view: View,
  wanted: Wanted,
): Promise<BatchResult> {
  const started = parts.clock();
  const tokens = tokenizeAll(parts.tokenizer, texts, view);
  const tokenized = parts.clock();
  const encodings: (Encoding | JudgeError)[] = tokens.map((entry) =>
    entry instanceof JudgeError ? entry : new JudgeError("encoder_error", "the text was not encoded"),
  );
  for (const rows of groupByLength(tokens)) {
    const encoded = await runRows(
      parts,
      rows.map((row) => tokens[row] as Tokens),
      wanted,
    );
    rows.forEach((row, index) => {
      encodings[row] = encoded[index]!;
    });
  }
  return { encodings, milliseconds: { tokenize: tokenized - started, prefill: parts.clock() - tokenized } };
}

/**
 * Indices of the tokenised texts, sorted by length and cut into groups that pad to at most maxBatchTokens and by at most
 * a quarter of a text's own length.
 */
function groupByLength(tokens: readonly (Tokens | JudgeError)[]): number[][] {
  const length = (row: number) => (tokens[row] as Tokens).ids.length;
  const rows = tokens.flatMap((entry, row) => (entry instanceof JudgeError ? [] : [row]));
  rows.sort((a, b) => length(a) - length(b));
  const groups: number[][] = [];
  for (const row of rows) {
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
  wanted: Wanted,
): Promise<(Encoding | JudgeError)[]> {
  try {
    const pooled = await parts.session.run(
      rows.map((row) => row.ids),
      wanted,
      parts.padding,
    );
    return rows.map((row, index) => checked(row, pooled[index]!));
  } catch (error) {
    if (rows.length === 1) {
      return [
        new JudgeError("encoder_error", "the encoder failed on this text", { cause: asJudgeError(error) }),
      ];
    }
    const single: (Encoding | JudgeError)[] = [];
    for (const row of rows) single.push(...(await runRows(parts, [row], wanted)));
    return single;
  }
}

function checked(
  row: Tokens,
  pooled: ReadonlyMap<`${number}.${"mean" | "last"}`, Float32Array>,
): Encoding | JudgeError {
  for (const vector of pooled.values()) {
    if (!vector.every(Number.isFinite)) {
      return new JudgeError("encoder_error", "the encoder gave a hidden state that is not finite");
    }
  }
  return { pooled, tokenCount: row.ids.length, truncated: row.truncated };
}
