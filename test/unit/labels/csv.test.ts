import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseCsv, writeCsv } from "../../../src/labels/csv.js";
import { refusal } from "../../support/refusal.js";

const fields = (text: string) => [...parseCsv(text)].map((record) => record.fields);

test("fields, quotes, quotes inside quotes, and empty fields at every place", () => {
  assert.deepEqual(fields('a,b,c\n"1,5","say ""hi""",\n,,\n""\n'), [
    ["a", "b", "c"],
    ["1,5", 'say "hi"', ""],
    ["", "", ""],
    [""],
  ]);
});

test("LF, CRLF and CR end a record; the last one needs none", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    assert.deepEqual(fields(`a,b${end}1,2${end}${end}3,"4"`), [
      ["a", "b"],
      ["1", "2"],
      ["3", "4"],
    ]);
  }
});

test("line ends inside quotes belong to the field, and lines are counted through them", () => {
  const records = [...parseCsv('q\n"one\r\ntwo\nthree\rfour"\n\nlast')];
  assert.deepEqual(records, [
    { fields: ["q"], line: 1 },
    { fields: ["one\r\ntwo\nthree\rfour"], line: 2 },
    { fields: ["last"], line: 7 },
  ]);
});

test("a byte order mark is no part of the first field, in quotes or not", () => {
  assert.deepEqual(fields("\uFEFFa,b"), [["a", "b"]]);
  assert.deepEqual(fields('\uFEFF"a",b'), [["a", "b"]]);
  assert.deepEqual(fields("\uFEFF"), []);
  assert.deepEqual(fields(""), []);
});

test("what is written is read back, whatever it holds", () => {
  const unit = fc.constantFrom("a", '"', ",", "\n", "\r", " ", "é", "😀", "\uFEFF", "=");
  const record = fc.array(fc.string({ unit, maxLength: 6 }), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 5 }), (records) => {
      // a mark at the very start is the file's, so it is not written there
      const safe = [["start", "x"], ...records];
      assert.deepEqual(fields(writeCsv(safe)), safe);
    }),
    { seed: 6, numRuns: 500 },
  );
});

for (const [name, text, place] of [
  ["a quote that is never closed", 'q\nfine\n"open\nmore\nand more', /^line 3: .*not closed/],
  ["a quote inside a field", 'q\n5" pipe', /^line 2: .*inside a field/],
  ["text after a closing quote", 'q\n"two\nlines" more', /^line 3: .*after the quote/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.match(refusal("usage", () => fields(text)).message, place);
  });
}

test("fields of 100 MB are read in seconds", () => {
  const long = "x".repeat(50_000_000);
  const [[plain, inQuotes] = []] = fields(`${long},"${long}""\n"`);
  assert.equal(plain?.length, 50_000_000);
  assert.equal(inQuotes?.length, 50_000_002);
});
