import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseCosts, requestCosts } from "../../../src/evaluate/costs.js";
import { refusal } from "../../support/refusal.js";

const prices = (input: number, output: number) => ({
  cost_per_m_input_tokens: input,
  cost_per_m_output_tokens: output,
});
const tokens = {
  prompt: 200,
  answer: new Map([
    ["weak", 50],
    ["strong", null],
  ] as const),
};

describe("given costs", () => {
  test("numbers are the cost of a request as they stand", () => {
    const given = parseCosts({ weak: 0, strong: 2.5, other: 1 });
    assert.equal(given.kind, "request");
    assert.deepEqual(requestCosts(given, ["strong", "weak"], tokens), { strong: 2.5, weak: 0 });
  });

  test("prices are multiplied with the tokens of a usual request", () => {
    const given = parseCosts({ weak: prices(0.5, 4), free: prices(0, 0) });
    const answer = new Map([
      ["weak", 50],
      ["free", 10],
    ] as const);
    const costs = requestCosts(given, ["weak", "free"], { prompt: 200, answer });
    assert.deepEqual(costs, { weak: (0.5 * 200 + 4 * 50) / 1e6, free: 0 });
  });
});

describe("refused", () => {
  const cases: readonly (readonly [content: unknown, message: RegExp])[] = [
    [{ weak: -1 }, /^"weak": found -1, wanted a number of 0 or more, or a table/],
    [{ weak: Number.POSITIVE_INFINITY }, /^"weak": found Infinity, wanted/],
    [{ weak: Number.NaN }, /^"weak": found NaN, wanted/],
    [{ weak: "1" }, /^"weak": found a string of 1 characters, wanted a number/],
    [{ weak: null }, /^"weak": found null, wanted/],
    [{ weak: true }, /^"weak": found true, wanted/],
    [{ weak: [1] }, /^"weak": found no table, wanted one with cost_per_m_input_tokens/],
    [{ weak: new Date(0) }, /^"weak", cost_per_m_input_tokens: found nothing/],
    [{ "gpt-3": { "5": 1 } }, /^"gpt-3", cost_per_m_input_tokens: found nothing/],
    [{ weak: { ...prices(1, 1), cost: 1 } }, /^"weak": found another key, .* a name with dots/],
    [{ weak: prices(-1, 1) }, /^"weak", cost_per_m_input_tokens: found -1, wanted a number of 0 or more/],
    [{ weak: { cost_per_m_input_tokens: 1 } }, /^"weak", cost_per_m_output_tokens: found nothing/],
    [{ weak: 1, strong: prices(1, 1) }, /^"weak" has a number, others have prices of tokens; give all/],
    [[1], /^found an array, wanted a table with a cost for each output/],
    [3, /^found 3, wanted a table/],
    [null, /^found null, wanted a table/],
  ];
  for (const [content, message] of cases) {
    test(`${JSON.stringify(content)}: ${message.source}`, () => {
      assert.match(refusal("usage", () => parseCosts(content)).message, message);
    });
  }

  test("an output without cost", () => {
    for (const given of [parseCosts({ weak: 1 }), parseCosts({ weak: prices(1, 1) }), parseCosts({})]) {
      const { message } = refusal("usage", () => requestCosts(given, ["strong"], tokens));
      assert.equal(message, '"strong" has no cost; give one to every output');
    }
  });

  test("prices of tokens where the labels do not tell how many an answer has", () => {
    const given = parseCosts({ strong: prices(1, 1), unlabelled: prices(1, 1) });
    for (const output of ["strong", "unlabelled"]) {
      const { message } = refusal("usage", () => requestCosts(given, [output], tokens));
      assert.match(message, new RegExp(`no output_tokens of "${output}".*; give the cost of a request`));
    }
  });
});
