// Cutting a text that is too long: by characters, then by tokens.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cutCharacters, cutTokens } from "../../../../src/encoder/tokenizer/truncate.js";
import type { Truncation, View } from "../../../../src/encoder/view.js";

const view = (maxTokens: number, truncation: Truncation): View => ({
  template: "none",
  maxTokens,
  truncation,
});
const modes = ["middle", "right"] as const;

describe("by characters", () => {
  for (const mode of modes) {
    test(`${mode}: 16 units per token are kept, one more is cut`, () => {
      assert.deepEqual(cutCharacters("x".repeat(160), view(10, mode)), { text: "x".repeat(160), cut: false });
      assert.deepEqual(cutCharacters("x".repeat(161), view(10, mode)), { text: "x".repeat(160), cut: true });
    });
  }
  test("middle keeps head and tail, right keeps the head", () => {
    const text = `${"a".repeat(8)}${"-".repeat(100)}${"z".repeat(8)}`;
    assert.equal(cutCharacters(text, view(1, "middle")).text, "aaaaaaaazzzzzzzz");
    assert.equal(cutCharacters(text, view(1, "right")).text, "aaaaaaaa--------");
  });
  for (const pair of ["🙂", "\u{10000}", "\u{10FFFF}"]) {
    const code = pair.codePointAt(0)!.toString(16);
    test(`middle splits no surrogate pair on either side: U+${code}`, () => {
      const head = `${"a".repeat(7)}${pair}${"-".repeat(20)}${"z".repeat(8)}`;
      assert.deepEqual(cutCharacters(head, view(1, "middle")), { text: "aaaaaaazzzzzzzz", cut: true });
      const tail = `${"a".repeat(8)}${"-".repeat(20)}${pair}${"z".repeat(7)}`;
      assert.deepEqual(cutCharacters(tail, view(1, "middle")), { text: "aaaaaaaazzzzzzz", cut: true });
    });
    test(`right splits no surrogate pair: U+${code}`, () => {
      const text = `${"a".repeat(15)}${pair}${"-".repeat(20)}`;
      assert.deepEqual(cutCharacters(text, view(1, "right")), { text: "a".repeat(15), cut: true });
    });
  }
  const texts = fc
    .array(fc.constantFrom("a", "é", "数", "🙂", "𝕏"), { minLength: 8, maxLength: 60, size: "max" })
    .map((characters) => characters.join(""));
  const cases = fc.tuple(texts, fc.integer({ min: 1, max: 3 }));

  test("right: of any text a head of whole characters is kept and nothing else", () => {
    fc.assert(
      fc.property(cases, ([text, tokens]) => {
        const { text: kept, cut } = cutCharacters(text, view(tokens, "right"));
        assert.equal(cut, text.length > 16 * tokens);
        assert.ok(text.startsWith(kept) && kept.isWellFormed());
        assert.ok(kept.length >= Math.min(text.length, 16 * tokens - 1) && kept.length <= 16 * tokens);
      }),
    );
  });
  test("middle: of any text head and tail of whole characters are kept and nothing else", () => {
    fc.assert(
      fc.property(cases, ([text, tokens]) => {
        const { text: kept, cut } = cutCharacters(text, view(tokens, "middle"));
        assert.equal(cut, text.length > 16 * tokens);
        if (!cut) return assert.equal(kept, text);
        const heads = [8 * tokens, 8 * tokens - 1].filter((size) => {
          const [head, tail] = [kept.slice(0, size), kept.slice(size)];
          return text.startsWith(head) && text.endsWith(tail) && head.isWellFormed() && tail.isWellFormed();
        });
        assert.ok(heads.length > 0, kept);
        assert.ok(kept.length >= 16 * tokens - 2 && kept.length <= 16 * tokens);
      }),
    );
  });
});

describe("by tokens", () => {
  const range = (from: number, size: number) => Array.from({ length: size }, (_, index) => from + index);
  const parts = (textSize: number, suffixIsText = false) => ({
    prefix: [1, 2],
    text: range(100, textSize),
    suffix: [8, 9, 10],
    lead: 0,
    trail: 0,
    suffixIsText,
  });

  for (const mode of modes) {
    test(`${mode}: what just fits is whole and not flagged`, () => {
      const wanted = { ids: [1, 2, ...range(100, 5), 8, 9, 10], truncated: false };
      assert.deepEqual(cutTokens(parts(5), 10, mode), wanted);
    });
  }
  test("middle keeps the template, and of the text as much head as tail, the odd token at the head", () => {
    const even = cutTokens(parts(50), 11, "middle");
    assert.deepEqual(even, { ids: [1, 2, 100, 101, 102, 147, 148, 149, 8, 9, 10], truncated: true });
    const odd = cutTokens(parts(50), 10, "middle");
    assert.deepEqual(odd, { ids: [1, 2, 100, 101, 102, 148, 149, 8, 9, 10], truncated: true });
  });
  test("middle keeps the template's plain words at both ends of the text", () => {
    const worded = { ...parts(50), lead: 2, trail: 3 };
    const { ids } = cutTokens(worded, 14, "middle");
    assert.deepEqual(ids, [1, 2, ...range(100, 4), ...range(145, 5), 8, 9, 10]);
  });
  test("middle with room for one token keeps the first, with room for none the template alone", () => {
    assert.deepEqual(cutTokens(parts(50), 6, "middle").ids, [1, 2, 100, 8, 9, 10]);
    assert.deepEqual(cutTokens(parts(50), 5, "middle").ids, [1, 2, 8, 9, 10]);
  });
  test("right keeps the first tokens, and what a post-processor appends", () => {
    assert.deepEqual(cutTokens(parts(50), 8, "right").ids, [1, 2, 100, 101, 102, 8, 9, 10]);
  });
  test("right cuts through a chat template's end, as trainers do that cut the rendered text", () => {
    assert.deepEqual(cutTokens(parts(50, true), 8, "right").ids, [1, 2, ...range(100, 6)]);
    assert.deepEqual(cutTokens(parts(5, true), 8, "right").ids, [1, 2, ...range(100, 5), 8]);
  });
  test("whatever the sizes, the limit is used up, the template stays and the text keeps its ends", () => {
    const size = fc.nat({ max: 12 });
    fc.assert(
      fc.property(size, size, size, size, fc.constantFrom(...modes), (before, text, after, room, mode) => {
        const prefix = range(1000, before);
        const suffix = range(2000, after);
        const ids = range(0, text);
        const maxTokens = before + after + room;
        const parts = { prefix, text: ids, suffix, lead: 0, trail: 0, suffixIsText: false };
        const cut = cutTokens(parts, maxTokens, mode);
        const kept = Math.min(text, room);
        const head = mode === "right" || text <= room ? kept : Math.ceil(kept / 2);
        assert.equal(cut.truncated, text > room);
        assert.deepEqual(cut.ids, [
          ...prefix,
          ...ids.slice(0, head),
          ...ids.slice(text - (kept - head)),
          ...suffix,
        ]);
      }),
    );
  });
});
