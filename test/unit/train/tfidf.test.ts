import assert from "node:assert/strict";
import { test } from "node:test";
import type { SparseMatrix } from "../../../src/train/numeric/design.js";
import { applyTfidf, fitTfidf, type Tfidf } from "../../../src/train/tfidf.js";
import { assertClose, reference } from "../../support/train/reference.js";

const { texts, unseen, inverseFrequency, fitted, applied } = reference().tfidf;
const tfidf = fitTfidf(texts);

/** Row → n-gram → value. */
function entries({ columns }: Tfidf, matrix: SparseMatrix): Map<string, number>[] {
  const names = [...columns.keys()];
  return Array.from({ length: matrix.rows }, (_, row) => {
    const places = Array.from(
      { length: matrix.offsets[row + 1]! - matrix.offsets[row]! },
      (_, index) => matrix.offsets[row]! + index,
    );
    return new Map(places.map((place) => [names[matrix.indices[place]!]!, matrix.values[place]!]));
  });
}

test("n-grams and their inverse frequency as scikit-learn's: case, white space, short words, emoji, Japanese", () => {
  assert.deepEqual([...tfidf.columns.keys()].sort(), Object.keys(inverseFrequency).sort());
  for (const [ngram, column] of tfidf.columns) {
    assertClose(tfidf.inverseFrequency[column], inverseFrequency[ngram]!);
  }
  assert.ok(tfidf.columns.has(" 日本の"));
  assert.ok(tfidf.columns.has("😀😀!"));
});

for (const [name, rows, wanted] of [
  ["the texts it was fitted on", texts, fitted],
  ["other texts", unseen, applied],
] as const) {
  test(`values as scikit-learn's: ${name}`, () => {
    const found = entries(tfidf, applyTfidf(tfidf, rows));
    wanted.forEach((row, index) => {
      assert.deepEqual([...found[index]!.keys()].sort(), Object.keys(row).sort());
      for (const [ngram, value] of Object.entries(row)) assertClose(found[index]!.get(ngram), value);
    });
  });
}

test("texts without a known n-gram are rows of nothing, and no text is a matrix of nothing", () => {
  const empty = applyTfidf(tfidf, ["", "qqq"]);
  assert.deepEqual([...empty.offsets], [0, 0, 0]);
  assert.equal(applyTfidf(tfidf, []).rows, 0);
  assert.equal(fitTfidf(["once only", ""]).columns.size, 0);
});
