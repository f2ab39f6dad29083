// The rules by which a pool's model is chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseByRule, chooseByTolerance, chooseByUtility } from "../../../src/answer/choice.js";

test("the cheapest with p ≥ p_max − tolerance, equality included", () => {
  const costs = [10, 1, 4];
  assert.equal(chooseByTolerance([0.9, 0.7, 0.8], costs, 0.05), 0);
  assert.equal(chooseByTolerance([0.75, 0.25, 0.5], costs, 0.25), 2);
  assert.equal(chooseByTolerance([0.75, 0.25, 0.5], costs, 0.5), 1);
  assert.equal(chooseByTolerance([0, 0, 0], costs, 1), 1);
});

test("of equally cheap ones the likelier, then the first; without costs the likeliest", () => {
  assert.equal(chooseByTolerance([0.5, 0.6, 0.6], [1, 1, 1], 1), 1);
  assert.equal(chooseByTolerance([0.5, 0.6, 0.6], null, 0), 1);
});

test("the highest of λ·p − (1 − λ)·cost ÷ highest cost", () => {
  const costs = [10, 1, 4];
  // λ = 0.5: 0.45 − 0.5, 0.1 − 0.05, 0.4 − 0.2
  assert.equal(chooseByUtility([0.9, 0.2, 0.8], costs, 0.5), 2);
  assert.equal(chooseByUtility([0.9, 0.2, 0.8], costs, 1), 0);
  assert.equal(chooseByUtility([0.9, 0.2, 0.8], costs, 0), 1);
  // the unit of the costs does not matter
  assert.equal(chooseByUtility([0.9, 0.2, 0.8], [1e-5, 1e-6, 4e-6], 0.5), 2);
});

test("on a tie of utility the cheaper one, whichever comes first", () => {
  assert.equal(chooseByUtility([1, 0.5], [1, 0.5], 0.5), 1);
  assert.equal(chooseByUtility([0.5, 1], [0.5, 1], 0.5), 0);
  assert.equal(chooseByUtility([0.3, 0.3], [0, 0], 0.5), 0);
});

test("a rule takes its own numbers; max needs no costs, and with them takes the cheaper of the equally likely", () => {
  const p = [0.9, 0.8, 0.9];
  assert.equal(chooseByRule({ policy: "tolerance", tolerance: 0.2 }, p, [3, 1, 2]), 1);
  assert.equal(chooseByRule({ policy: "tolerance", tolerance: 0.05 }, p, [3, 1, 2]), 2);
  assert.equal(chooseByRule({ policy: "utility", lambda: 0 }, p, [3, 1, 2]), 1);
  assert.equal(chooseByRule({ policy: "max" }, p, null), 0);
  assert.equal(chooseByRule({ policy: "max" }, p, [3, 1, 2]), 2);
});
