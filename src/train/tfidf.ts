// Character n-grams inside words, weighted as scikit-learn's TfidfVectorizer("char_wb") does.
import type { SparseMatrix } from "./numeric/design.js";

/** What reproduces the floor of the embedded judges' figures. */
const recipe = {
  /** length of the n-grams in code points, both ends included */
  shortest: 3,
  longest: 5,
  /** n-grams of fewer texts are left out */
  minTexts: 2,
};

export interface Tfidf {
  /** n-gram → column, in the order of first occurrence */
  readonly columns: ReadonlyMap<string, number>;
  /** [columns] ln((1 + texts) / (1 + texts with it)) + 1 */
  readonly inverseFrequency: Float64Array;
}

export function fitTfidf(texts: readonly string[]): Tfidf {
  const numbers = new Map<string, number>();
  const numbersOf = createWordReader((ngram) => {
    const number = numbers.get(ngram) ?? numbers.size;
    numbers.set(ngram, number);
    return number;
  });
  const textsWith: number[] = [];
  const latest: number[] = [];
  texts.forEach((text, index) => {
    for (const word of wordsOf(text)) {
      for (const number of numbersOf(word)) {
        if (latest[number] === index) continue;
        latest[number] = index;
        textsWith[number] = (textsWith[number] ?? 0) + 1;
      }
    }
  });
  const kept = [...numbers].filter(([, number]) => textsWith[number]! >= recipe.minTexts);
  return {
    columns: new Map(kept.map(([ngram], column) => [ngram, column])),
    inverseFrequency: Float64Array.from(
      kept,
      ([, number]) => Math.log((1 + texts.length) / (1 + textsWith[number]!)) + 1,
    ),
  };
}

/** [texts, columns]; each row is (1 + ln count) · inverse frequency, of length 1, or zero. */
export function applyTfidf({ columns, inverseFrequency }: Tfidf, texts: readonly string[]): SparseMatrix {
  const columnsOf = createWordReader((ngram) => columns.get(ngram) ?? null);
  const counts = new Uint32Array(columns.size);
  const offsets = new Uint32Array(texts.length + 1);
  const indices: Uint32Array[] = [];
  const values: Float64Array[] = [];
  texts.forEach((text, row) => {
    const found: number[] = [];
    for (const word of wordsOf(text)) {
      for (const column of columnsOf(word)) if (counts[column]!++ === 0) found.push(column);
    }
    const value = Float64Array.from(
      found,
      (column) => (1 + Math.log(counts[column]!)) * inverseFrequency[column]!,
    );
    for (const column of found) counts[column] = 0;
    const length = Math.sqrt(value.reduce((sum, entry) => sum + entry * entry, 0));
    indices.push(Uint32Array.from(found));
    values.push(value.map((entry) => entry / length));
    offsets[row + 1] = offsets[row]! + value.length;
  });
  const size = offsets[texts.length]!;
  return {
    rows: texts.length,
    columns: columns.size,
    offsets,
    indices: joined(Uint32Array, indices, size),
    values: joined(Float64Array, values, size),
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

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\p{White_Space}+/u)
    .filter((word) => word !== "");
}

/** Word → the numbers of its n-grams, repetitions included; words are remembered, since most come again. */
function createWordReader(numberOf: (ngram: string) => number | null): (word: string) => Uint32Array {
  const known = new Map<string, Uint32Array>();
  return (word) => {
    let numbers = known.get(word);
    if (numbers === undefined) {
      numbers = Uint32Array.from(
        ngramsOf(word)
          .map(numberOf)
          .filter((number) => number !== null),
      );
      known.set(word, numbers);
    }
    return numbers;
  };
}

/** The n-grams of the word padded by one space at both ends; a word shorter than an n-gram counts once. */
function ngramsOf(word: string): string[] {
  const { shortest, longest } = recipe;
  const padded = ` ${word} `;
  // n-grams are of code points, as in Python; few words have any that take two units
  const points = /[\uD800-\uDFFF]/.test(word) ? Array.from(padded) : null;
  const size = points?.length ?? padded.length;
  const ngrams: string[] = [];
  for (let length = shortest; length <= longest; length++) {
    const last = Math.max(size - length, 0);
    for (let start = 0; start <= last; start++) {
      const end = start + length;
      ngrams.push(points === null ? padded.slice(start, end) : points.slice(start, end).join(""));
    }
    if (last === 0) break;
  }
  return ngrams;
}
