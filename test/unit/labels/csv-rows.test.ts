import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseLabels } from "../../../src/labels/labels.js";
import { refusal } from "../../support/refusal.js";
import { textReader } from "../../support/train/text-reader.js";

const parse = (content: string) => parseLabels(content, "csv", textReader);

test("llm-router's file: rows of one question become one, outputs in the order of appearance", () => {
  const { outputNames, rows, medianOutputTokens } = parse(
    "question,model,isCorrect,output_tokens\n" +
      "What is 2+2?,weak,True,10\nWhat is 2+2?,strong,True,30\n" +
      '"Prove it, please",strong,TRUE,50\n"Prove it, please",weak,false,20\nOnly one,weak,,\n',
  );
  assert.deepEqual(outputNames, ["weak", "strong"]);
  assert.deepEqual(
    rows.map(({ id, text, labels }) => [id, text, labels]),
    [
      ["row-1", "What is 2+2?", [1, 1]],
      ["row-3", "Prove it, please", [0, 1]],
      ["row-5", "Only one", [null, null]],
    ],
  );
  assert.deepEqual(medianOutputTokens, [15, 40]);
  assert.ok(rows.every(({ copies, weight }) => copies === 1 && weight === 1));
});

test("optional columns in any order, spaces around names and values, a byte order mark, CRLF", () => {
  const { rows } = parse(
    "\uFEFFweight, split ,isCorrect,id,source,group,model,question\r\n" +
      "2.5, train ,1,a-1,measured,maths,m,How?\r\n,,0,,,,m,Why?\r\n",
  );
  const [first, second] = rows;
  assert.deepEqual(first, {
    id: "a-1",
    text: "How?",
    split: "train",
    group: "maths",
    source: "measured",
    weight: 2.5,
    labels: [1],
    samples: [1],
    copies: 1,
  });
  assert.deepEqual([second?.id, second?.split, second?.weight], ["row-2", null, 1]);
});

test("a share of answers with their number, and several answers to one question", () => {
  const { rows } = parse(
    "question,model,isCorrect,samples\nq,m,0.75,4\nr,m,1,\nr,m,0.0,\nr,m,0,1\nr,n,1.0,2\n",
  );
  assert.deepEqual(
    rows.map(({ labels, samples }) => [labels, samples]),
    [
      [
        [0.75, null],
        [4, 0],
      ],
      [
        [1 / 3, 1],
        [3, 2],
      ],
    ],
  );
});

test("the index that pandas writes as a first column without a name is passed over", () => {
  for (const name of ["", "Unnamed: 0"]) {
    const { rows } = parse(`${name},question,model,isCorrect\n0,Why?,m,True\n1,How?,m,False\n`);
    assert.deepEqual(
      rows.map(({ text, labels }) => [text, labels]),
      [
        ["Why?", [1]],
        ["How?", [0]],
      ],
    );
  }
});

test("line feeds and quotes inside a question stay", () => {
  const { rows } = parse('question,model,isCorrect\n"def f():\n  return ""x""",m,1\n');
  assert.equal(rows[0]?.text, 'def f():\n  return "x"');
});

test("every spelling of a missing label is null", () => {
  const words = ["", "NaN", "None", "null", "NA", "n/a", "  "];
  const { rows } = parse(
    `question,model,isCorrect\n${words.map((word, index) => `q${index},m,${word}\n`).join("")}`,
  );
  assert.ok(rows.every(({ labels }) => labels[0] === null));
  assert.equal(rows.length, words.length);
});

describe("refused, by row, line and column", () => {
  const head = "question,model,isCorrect,output_tokens,weight\n";
  const cases: Readonly<Record<string, readonly [content: string, message: RegExp]>> = {
    "an empty file": ["", /the file is empty; wanted a header with question,model,isCorrect/],
    "a header alone": [head, /no rows/],
    "a missing column": ["question,model\nq,m\n", /header \(line 1\): column isCorrect is missing/],
    "an unknown column": [
      "question,model,isCorrect,notes\nq,m,1,x\n",
      /header \(line 1\): column "notes" is unknown; wanted .*split,group/,
    ],
    "another spelling": ["question,model,iscorrect\nq,m,1\n", /column isCorrect is missing/],
    "a nameless column that is not the first": [
      "question,model,isCorrect,\nq,m,1,x\n",
      /header \(line 1\): column "" is unknown/,
    ],
    "a column twice": ["question,model,isCorrect,model\nq,m,1,m\n", /column "model" stands there twice/],
    semicolons: ["question;model;isCorrect\nq;m;1\n", /missing.*separated by commas/],
    "a field too many": [`${head}q,m,1,3,1\n\na, b,m,1,3,1\n`, /^row 2 \(line 4\): found 6 fields, wanted 5/],
    "a field too few": [`${head}q,m,1\n`, /^row 1 \(line 2\): found 3 fields/],
    "a label that is none": [
      `${head}q,m,1,,\nr,m,maybe,,\n`,
      /^row 2 \(line 3\), column isCorrect: found "maybe", wanted True or False/,
    ],
    "a share above 1": [
      `${head}q,m,50,,\n`,
      /column isCorrect: found "50", wanted True or False, a share from 0 to 1/,
    ],
    "a negative share": [`${head}q,m,-0.5,,\n`, /column isCorrect: found "-0.5"/],
    "a share in another notation": [`${head}q,m,0x1,,\n`, /column isCorrect: found "0x1"/],
    "no answers": [
      "question,model,isCorrect,samples\nq,m,0.5,0\n",
      /column samples: found 0, wanted a whole number from 1, or nothing/,
    ],
    "words and numbers mixed": [
      `${head}q,m,,,\nr,m,True,,\ns,m,1,,\n`,
      /^row 3 \(line 4\), column isCorrect: found a number, but row 2 has a word/,
    ],
    "an empty question": [
      `${head}"\n \u200B",m,1,,\n`,
      /^row 1 \(line 2\), column question: found no visible/,
    ],
    "no model": [`${head}q, ,1,,\n`, /column model: found nothing/],
    "tokens that are none": [`${head}q,m,1,many,\n`, /column output_tokens: found "many", wanted a number/],
    "fractional tokens": [`${head}q,m,1,1.5,\n`, /column output_tokens: found 1.5/],
    "a weight of zero": [`${head}q,m,1,,0\n`, /column weight: found 0, wanted a number above 0/],
    "a negative weight": [`${head}q,m,1,,-1\n`, /column weight: found -1/],
    "an infinite weight": [`${head}q,m,1,,Infinity\n`, /column weight: found "Infinity"/],
    "a place after embedded line feeds": [`${head}"a\nb\nc",m,1,,\nq,m,x,,\n`, /^row 2 \(line 5\)/],
    "a question of 10 million characters": [
      `${head}${"y".repeat(10_000_001)},m,1,,\n`,
      /^row 1 \(line 2\), column question: found 10000001 characters/,
    ],
  };
  for (const [name, [content, message]] of Object.entries(cases)) {
    test(name, () => {
      assert.match(refusal("usage", () => parse(content)).message, message);
    });
  }

  test("no more than a few characters of a wrong value are told", () => {
    const { message } = refusal("usage", () => parse(`${head}q,m,${"secret ".repeat(40)},,\n`));
    assert.ok(message.length < 200, message);
  });
});
