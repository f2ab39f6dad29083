import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseLabels } from "../../../src/labels/labels.js";
import { refusal } from "../../support/refusal.js";
import { textReader } from "../../support/train/text-reader.js";

const parse = (content: string) => parseLabels(content, "jsonl", textReader);
const lines = (...rows: unknown[]) => rows.map((row) => JSON.stringify(row)).join("\n");

test("rows with every field, and with none that may be left out", () => {
  const full = {
    id: "a",
    prompt: "How many?",
    split: "train",
    group: "maths",
    source: "measured",
    weight: 0.5,
    labels: { weak: true, strong: null },
    output_tokens: { weak: 12 },
    answer: "7",
    reply: "7!",
  };
  const { outputNames, rows, medianOutputTokens, ignoredFields } = parse(
    lines(full, { prompt: "Why?", labels: { other: false, weak: false } }),
  );
  assert.deepEqual(outputNames, ["weak", "strong", "other"]);
  assert.deepEqual(rows, [
    {
      id: "a",
      text: "How many?",
      split: "train",
      group: "maths",
      source: "measured",
      weight: 0.5,
      labels: [1, null, null],
      samples: [1, 0, 0],
      copies: 1,
    },
    {
      id: "row-2",
      text: "Why?",
      split: null,
      group: null,
      source: null,
      weight: 1,
      labels: [0, null, 0],
      samples: [1, 0, 1],
      copies: 1,
    },
  ]);
  assert.deepEqual(medianOutputTokens, [12, null, null]);
  assert.deepEqual(ignoredFields, ["answer", "reply"]);
});

test("a messages array is read as a request's: the first user message's text parts", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [{ type: "text", text: "Name a" }, { type: "image_url" }, { type: "text", text: "bird." }],
    },
    { role: "user", content: "And a fish." },
  ];
  assert.equal(parse(lines({ messages, labels: { m: true } })).rows[0]?.text, "Name a\nbird.");
});

test("a byte order mark, CRLF, blank lines and no final line end", () => {
  const row = (prompt: string) => JSON.stringify({ prompt, labels: { m: true } });
  const { rows } = parse(`\uFEFF${row("a")}\r\n\r\n  \n${row("b")}`);
  assert.deepEqual(
    rows.map(({ id, text }) => [id, text]),
    [
      ["row-1", "a"],
      ["row-2", "b"],
    ],
  );
});

test("a label is a share of answers, whose number counts; booleans are 1 and 0 of one answer", () => {
  const { rows } = parse(
    lines(
      { prompt: "a", labels: { weak: 0.67, strong: true, other: null }, samples: { weak: 3, other: 2 } },
      { prompt: "b", labels: { weak: false, strong: 0, other: 1 }, samples: { weak: 5, strong: null } },
    ),
  );
  assert.deepEqual(
    rows.map(({ labels, samples }) => [labels, samples]),
    [
      [
        [0.67, 1, null],
        [3, 1, 0],
      ],
      [
        [0, 0, 1],
        [5, 1, 1],
      ],
    ],
  );
});

test("a model named like a part of JavaScript is a model", () => {
  const { outputNames, rows, medianOutputTokens } = parse(
    '{"prompt":"a","labels":{"constructor":true,"toString":false},"output_tokens":{"toString":3}}',
  );
  assert.deepEqual(outputNames, ["constructor", "toString"]);
  assert.deepEqual(rows[0]?.labels, [1, 0]);
  assert.deepEqual(medianOutputTokens, [null, 3]);
});

describe("refused, by row, line and field", () => {
  const good = { id: "a", prompt: "A question", labels: { m: true } };
  const cases: Readonly<Record<string, readonly [content: string, message: RegExp]>> = {
    "an empty file": ["\n\n", /no rows/],
    "no JSON": [`${lines(good)}\n\n{"id": oops}`, /^row 2 \(line 3\): found no JSON/],
    "NaN, as Python writes it": [
      '{"prompt":"NaN","labels":{"m":NaN}}',
      /^row 1 \(line 1\): found NaN, which JSON does not have; write null/,
    ],
    "a file that is cut off": [
      `${lines(good)}\n{"prompt":"A quest`,
      /^row 2 \(line 2\): found an object that does not end in its line.* the file is cut off$/,
    ],
    "an object over several lines": [
      JSON.stringify(good, null, 2),
      /^row 1 \(line 1\): found an object that does not end in its line, wanted one object a line/,
    ],
    "an array over several lines": ["[\n{}\n]", /^row 1 \(line 1\): found the start of an array/],
    "a comma between lines": [`${lines(good)},\n${lines(good)}`, /^row 1 \(line 1\): found a comma after/],
    "an array of rows": [JSON.stringify([good]), /^row 1 \(line 1\): found an array, wanted a JSON object/],
    null: ["null", /found null, wanted a JSON object/],
    "no prompt": [lines({ labels: { m: true } }), /field prompt: found nothing, wanted prompt.* or messages/],
    "prompt and messages": [lines({ ...good, messages: [] }), /field messages: found beside prompt/],
    "a prompt that is a number": [
      lines(good, { ...good, prompt: 7 }),
      /^row 2 .*field prompt: found 7, wanted a string/,
    ],
    "an empty prompt": [lines({ ...good, prompt: " \n" }), /field prompt: found no visible text/],
    "messages without a user's text": [
      lines({ messages: [{ role: "system", content: "x" }], labels: { m: true } }),
      /field messages: found no visible text/,
    ],
    "messages that are an object": [
      lines({ messages: {}, labels: { m: true } }),
      /field messages: found an object/,
    ],
    "no labels": [lines({ id: "a", prompt: "p" }), /field labels: found nothing, wanted an object/],
    "labels of no output": [lines({ ...good, labels: {} }), /field labels: found no output/],
    "a label in words": [
      lines({ ...good, labels: { "gpt-3.5": "true" } }),
      /field labels\.gpt-3\.5: found a string of 4 characters, wanted true, false, a share from 0 to 1, or null/,
    ],
    "a share above 1": [
      lines({ ...good, labels: { m: 67 } }),
      /field labels\.m: found 67, wanted true, false, a share from 0 to 1, or null/,
    ],
    "a share below 0": [lines({ ...good, labels: { m: -0.1 } }), /field labels\.m: found -0\.1, wanted true/],
    "a share of no answers": [
      lines({ ...good, labels: { m: 0.5 }, samples: { m: 0 } }),
      /field samples\.m: found 0, wanted 1 or more/,
    ],
    "half an answer": [
      lines({ ...good, samples: { m: 1.5 } }),
      /field samples\.m: found 1\.5, wanted a whole number/,
    ],
    "answers without a label": [
      lines({ ...good, samples: { other: 3 } }),
      /field samples\."other": found an output without a label/,
    ],
    "a field in other letters": [
      lines(good, { ...good, Split: "test" }),
      /^row 2 \(line 2\), field "Split": is not known; write it as "split"/,
    ],
    "a numeric id": [lines({ ...good, id: 12 }), /field id: found 12, wanted a string/],
    "an empty id": [lines({ ...good, id: "" }), /field id: found an empty string/],
    "a weight of zero": [lines({ ...good, weight: 0 }), /field weight: found 0, wanted a number above 0/],
    "a weight in words": [lines({ ...good, weight: "2" }), /field weight: found a string/],
    "a split that is an array": [lines({ ...good, split: ["train"] }), /field split: found an array/],
    "negative tokens": [lines({ ...good, output_tokens: { m: -1 } }), /field output_tokens\.m: found -1/],
  };
  for (const [name, [content, message]] of Object.entries(cases)) {
    test(name, () => {
      assert.match(refusal("usage", () => parse(content)).message, message);
    });
  }

  test("a line of 100 MB, without reading it", () => {
    const content = `${lines(good)}\n{"prompt":"${"z".repeat(100_000_000)}","labels":{"m":true}}`;
    const { message } = refusal("usage", () => parse(content));
    assert.match(message, /^row 2 \(line 2\): found a line of \d+ characters, wanted at most 32000000/);
  });

  test("a fault tells nothing of a prompt", () => {
    const { message } = refusal("usage", () => parse(lines({ ...good, prompt: ["my secret"], weight: 1 })));
    assert.doesNotMatch(message, /secret/);
    assert.doesNotMatch(refusal("usage", () => parse('{"prompt":"my secret" "x"}')).message, /secret/);
  });
});
