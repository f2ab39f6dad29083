// Character n-grams inside words, weighted: scikit-learn's TfidfVectorizer(analyzer="char_wb", sublinear_tf=True,
// min_df=2), without its column order. The features of the floor that a judge must beat.
import type { SparseMatrix } from "./design.js";

export interface TfidfOptions {
  /** length of the n-grams in code points, both ends included */
  readonly shortest: number;
  readonly longest: number;
  /** n-grams of fewer texts are left out */
  readonly minTexts: number;
}

/** What reproduces the floor of the embedded judges' figures. */
export const usualTfidf: TfidfOptions = { shortest: 3, longest: 5, minTexts: 2 };

export interface Tfidf {
  readonly options: TfidfOptions;
  /** n-gram → column, in the order of first occurrence */
  readonly columns: ReadonlyMap<string, number>;
  /** [columns] ln((1 + texts) / (1 + texts with it)) + 1 */
  readonly inverseFrequency: Float64Array;
}

export function fitTfidf(texts: readonly string[], options = usualTfidf): Tfidf {
  const textsWith = new Map<string, { count: number; last: number }>();
  texts.forEach((text, index) => {
    eachNgram(text, options, (ngram) => {
      const entry = textsWith.get(ngram);
      if (entry === undefined) {
        textsWith.set(ngram, { count: 1, last: index });
      } else if (entry.last !== index) {
        entry.count++;
        entry.last = index;
      }
    });
  });
  const kept = [...textsWith].filter(([, { count }]) => count >= options.minTexts);
  return {
    options,
    columns: new Map(kept.map(([ngram], column) => [ngram, column])),
    inverseFrequency: Float64Array.from(
      kept,
      ([, { count }]) => Math.log((1 + texts.length) / (1 + count)) + 1,
    ),
  };
}

/** [texts, columns]; each row (1 + ln count) · inverse frequency, of length 1; a text without a known n-gram is zero. */
export function applyTfidf(tfidf: Tfidf, texts: readonly string[]): SparseMatrix {
  const { columns, inverseFrequency, options } = tfidf;
  const offsets = new Uint32Array(texts.length + 1);
  const indices: Uint32Array[] = [];
  const values: Float64Array[] = [];
  texts.forEach((text, row) => {
    const counts = new Map<number, number>();
    eachNgram(text, options, (ngram) => {
      const column = columns.get(ngram);
      if (column !== undefined) counts.set(column, (counts.get(column) ?? 0) + 1);
    });
    const value = Float64Array.from(
      counts,
      ([column, count]) => (1 + Math.log(count)) * inverseFrequency[column]!,
    );
    const length = Math.sqrt(value.reduce((sum, entry) => sum + entry * entry, 0));
    indices.push(Uint32Array.from(counts.keys()));
    values.push(value.map((entry) => entry / length));
    offsets[row + 1] = offsets[row]! + value.length;
  });
  return {
    rows: texts.length,
    columns: columns.size,
    offsets,
    indices: joined(Uint32Array, indices, offsets[texts.length]!),
    values: joined(Float64Array, values, offsets[texts.length]!),
  };
}

function joined<T extends Uint32Array | Float64Array>(
  kind: new (size: number) => T,
  parts: readonly T[],
  size: number,
): T {
  const whole = new kind(size);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Every n-gram of every word in lower case, the word padded by one space at both ends; a shorter word counts once. */
function eachNgram(text: string, { shortest, longest }: TfidfOptions, visit: (ngram: string) => void): void {
  for (const word of text.toLowerCase().split(/\p{White_Space}+/u)) {
    if (word === "") continue;
    const padded = ` ${word} `;
    // n-grams are of code points, as in Python; few words have any that take two units
    const points = /[\uD800-\uDFFF]/.test(word) ? Array.from(padded) : null;
    const size = points?.length ?? padded.length;
    for (let length = shortest; length <= longest; length++) {
      const last = Math.max(size - length, 0);
      for (let start = 0; start <= last; start++) {
        const end = start + length;
        visit(points === null ? padded.slice(start, end) : points.slice(start, end).join(""));
      }
      if (last === 0) break;
    }
  }
}
