// The verdict's text: the four keys and the number format that routers accept.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  abstainingVerdict,
  type PrimaryRule,
  primaryRules,
  renderCapability,
} from "../../../src/answer/capability.js";
import { fixturePath, readJson } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const boundaries: Readonly<Record<PrimaryRule, string>> = {
  "SUP-1": "supported",
  "SUP-2": "supported",
  "SUP-3": "supported",
  "SUP-4": "supported",
  "SUP-5": "supported",
  "UNC-1": "uncertain",
  "UNC-2": "uncertain",
  "LIM-1": "unsupported",
  "LIM-2": "unsupported",
  none: "unmatched",
};

for (const [rule, boundary] of Object.entries(boundaries) as [PrimaryRule, string][]) {
  test(`rule ${rule} is rendered with its boundary ${boundary}`, () => {
    assert.equal(
      renderCapability({ crux: "c", primaryRule: rule, pSolve: 0.25 }),
      `{"crux":"c","primary_rule":"${rule}","capability_boundary":"${boundary}","p_solve":0.25}`,
    );
  });
}

test("rules and keys are exactly those of the schema that Switchyard sends", () => {
  interface Body {
    response_format: {
      json_schema: { schema: { required: string[]; properties: { primary_rule: { enum: string[] } } } };
    };
  }
  const { openai_chat } = readJson<{ openai_chat: { body: Body }[] }>(
    fixturePath("switchyard/judge-requests.json"),
  );
  const { schema } = openai_chat[0]!.body.response_format.json_schema;
  assert.deepEqual(primaryRules, schema.properties.primary_rule.enum);
  const verdict = JSON.parse(renderCapability({ crux: "c", primaryRule: "none", pSolve: 0 }));
  assert.deepEqual(Object.keys(verdict), schema.required);
});

describe("p_solve always has a point or an exponent, and is the very number", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0.0"],
    [-0, "0.0"],
    [1, "1.0"],
    [1e-7, "1e-7"],
    [0.5, "0.5"],
    [1 / 3, "0.3333333333333333"],
    [1 - 2 ** -53, "0.9999999999999999"],
    [Number.MIN_VALUE, "5e-324"],
  ];
  for (const [p, text] of cases) {
    test(text, () => {
      assert.ok(
        renderCapability({ crux: "c", primaryRule: "SUP-4", pSolve: p }).endsWith(`,"p_solve":${text}}`),
      );
    });
  }
  test("any p within 0 and 1", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (p) => {
        const text = renderCapability({ crux: "c", primaryRule: "SUP-4", pSolve: p });
        assert.match(text.slice(text.indexOf('"p_solve":') + 10, -1), /^\d+(\.\d+|(\.\d+)?e-\d+)$/);
        assert.equal(JSON.parse(text).p_solve, p === 0 ? 0 : p);
      }),
    );
  });
});

test("a p_solve that is no probability is a bug, not a verdict", () => {
  for (const pSolve of [Number.NaN, -Number.MIN_VALUE, 1 + Number.EPSILON, Number.POSITIVE_INFINITY]) {
    refusal("internal", () => renderCapability({ crux: "c", primaryRule: "SUP-4", pSolve }));
  }
});

test("the crux is escaped as JSON", () => {
  const crux = 'a "quoted" \\ line\nand \u2028 more 🙂';
  assert.equal(JSON.parse(renderCapability({ crux, primaryRule: "SUP-4", pSolve: 0.1 })).crux, crux);
});

test("an abstention is rule none, boundary unmatched, p_solve 0.0", () => {
  assert.equal(
    renderCapability(abstainingVerdict("why")),
    '{"crux":"why","primary_rule":"none","capability_boundary":"unmatched","p_solve":0.0}',
  );
});
