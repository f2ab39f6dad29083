// The answer of custom mode: table against checkpoint, the chosen group, its place in the template.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type CustomSettings,
  chooseGroup,
  fitCustomVerdict,
  pointerPath,
  renderCustom,
} from "../../../src/answer/custom.js";
import { refusal } from "../../support/refusal.js";

const settings: CustomSettings = {
  pointer: "/decision/target",
  targets: { efficient: "weak", middle: "mid", capable: "strong" },
  rule: { policy: "tolerance", tolerance: 0.2 },
  costs: null,
  template: {},
  defaultGroup: "capable",
};
const outputs = { names: ["strong", "mid", "weak"], costs: { strong: 9, mid: 3, weak: 1 } };
const fit = (given: Partial<CustomSettings> = {}, of = outputs as Parameters<typeof fitCustomVerdict>[2]) =>
  fitCustomVerdict("judges.x.custom", { ...settings, ...given }, of);

describe("a group", () => {
  const p = (weak: number, mid: number, strong: number) => ({ weak, mid, strong });
  test("is chosen by the rule, with the checkpoint's costs", () => {
    assert.equal(chooseGroup(fit(), p(0.7, 0.8, 0.9)), "efficient");
    assert.equal(chooseGroup(fit(), p(0.6, 0.8, 0.9)), "middle");
    assert.equal(chooseGroup(fit(), p(0.6, 0.6, 0.9)), "capable");
    assert.equal(chooseGroup(fit({ rule: { policy: "max" } }), p(0.7, 0.9, 0.8)), "middle");
    assert.equal(chooseGroup(fit({ rule: { policy: "utility", lambda: 0.9 } }), p(0.5, 0.85, 0.9)), "middle");
  });
  test("is chosen with the table's own costs, where it has some", () => {
    const costs = { efficient: 3, middle: 2, capable: 1 };
    assert.equal(chooseGroup(fit({ costs }), p(0.9, 0.9, 0.7)), "capable");
  });
  test("may be one of a part of the outputs, and two may share one", () => {
    const targets = { any: "mid", capable: "mid" };
    assert.equal(chooseGroup(fit({ targets }), p(1, 0.1, 1)), "any");
  });
});

describe("a table that does not fit its checkpoint is refused:", () => {
  const refused = (given: Partial<CustomSettings>, of?: Parameters<typeof fitCustomVerdict>[2]) =>
    refusal("config", () => fit(given, of)).message;
  const without = { ...outputs, costs: null };
  for (const [name, message, wanted] of [
    [
      "an output that it has not",
      () => refused({ targets: { capable: "large" } }),
      /^judges\.x\.custom\.targets\.capable is no output of the checkpoint; wanted one of "strong", "mid", "weak"$/,
    ],
    [
      "a default that is no group",
      () => refused({ defaultGroup: "best" }),
      /default: "best" is no group .* efficient, middle, capable$/,
    ],
    ["a cost that is missing", () => refused({ costs: { capable: 1 } }), /costs lacks efficient, middle;/],
    [
      "no costs at all",
      () => refused({}, without),
      /costs is missing, and the checkpoint has none; .* policy = "max"$/,
    ],
    [
      "no costs for utility",
      () => refused({ rule: { policy: "utility", lambda: 1 } }, without),
      /costs is missing/,
    ],
    [
      "a pointer through a string",
      () => refused({ template: { decision: "x" } }),
      /pointer leads through a value of template/,
    ],
    [
      "a pointer past a list's end",
      () => refused({ template: { decision: [1] }, pointer: "/decision/1" }),
      /pointer leads/,
    ],
  ] as const) {
    test(name, () => assert.match(message(), wanted));
  }
  test("but max needs no costs", () => {
    assert.equal(fit({ rule: { policy: "max" } }, without).groupCosts, null);
  });
});

describe("the answer", () => {
  const render = (pointer: string, template: CustomSettings["template"]) =>
    JSON.stringify(renderCustom(fit({ pointer, template }), "middle"));
  test("is the template with the group at the pointer", () => {
    assert.equal(render("/decision/target", {}), '{"decision":{"target":"middle"}}');
    assert.equal(
      render("/decision/target", { score: 1, decision: { why: "x", target: "none" } }),
      '{"score":1,"decision":{"why":"x","target":"middle"}}',
    );
    assert.equal(render("/list/1", { list: [1, 2, 3] }), '{"list":[1,"middle",3]}');
    assert.equal(render("/list/0/a", { list: [{ b: 1 }] }), '{"list":[{"b":1,"a":"middle"}]}');
  });
  test("reads a pointer as RFC 6901 does", () => {
    assert.deepEqual(pointerPath("/a~1b/m~0n/~01//0"), ["a/b", "m~n", "~1", "", "0"]);
  });
  test("has keys of any name as its own", () => {
    assert.equal(render("/__proto__/constructor", {}), '{"__proto__":{"constructor":"middle"}}');
    assert.equal(({} as { constructor: unknown }).constructor, Object);
  });
  test("leaves the template as it is", () => {
    const template = { decision: { why: "x" } };
    render("/decision/target", template);
    assert.deepEqual(template, { decision: { why: "x" } });
  });
});
