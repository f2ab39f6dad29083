// Answers against the schemas of requests, the hostile ones among them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSchemaCheck } from "../../../src/http/schema-check.js";

const answer = { decision: { target: "capable" }, why: "x" };
const target = (schema: object) => ({
  type: "object",
  properties: { decision: { type: "object", properties: { target: schema }, required: ["target"] } },
  required: ["decision"],
});

describe("a schema", () => {
  const { accepts } = createSchemaCheck();
  for (const [name, schema, wanted] of [
    ["that names the group", target({ enum: ["capable", "efficient"] }), true],
    ["that does not name it", target({ enum: ["efficient"] }), false],
    ["with a pattern", target({ pattern: "^cap" }), true],
    [
      "with a reference into itself",
      { ...target({ $ref: "#/$defs/g" }), $defs: { g: { const: "capable" } } },
      true,
    ],
    ["that takes no other keys", { ...target({}), additionalProperties: false }, false],
    ["that wants more", { ...target({}), required: ["decision", "score"] }, false],
    ["true", true, true],
    ["false", false, false],
    ["{}", {}, true],
    ["a list", [], false],
    ["null", null, false],
    ["a string", "object", false],
  ] as const) {
    test(`${name}: ${wanted}`, () => {
      assert.equal(accepts(schema, answer), wanted);
      assert.equal(accepts(structuredClone(schema), answer), wanted, "and again");
    });
  }

  test("is left as it was", () => {
    const schema = { ...target({ $ref: "#/$defs/g" }), $id: "https://example.com/a", $defs: { g: {} } };
    const copy = structuredClone(schema);
    accepts(schema, answer);
    assert.deepEqual(schema, copy);
  });
});

/** Schemas that a validator without bounds would be busy with for ages, or would fetch. */
const chain = (step: (next: string) => object) =>
  Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `x${index}`,
      index === 59 ? {} : step(`#/$defs/x${index + 1}`),
    ]),
  );
const nested = (depth: number, wrap: (inner: object, index: number) => object) =>
  Array.from({ length: depth }).reduce<object>((inner, _, index) => wrap(inner, index), {});
const hostile: Readonly<Record<string, unknown>> = {
  "a pattern that backtracks": target({ pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" }),
  "patterns of keys that backtrack": { patternProperties: { "^(a|a?)+$": {}, "^(\\w+\\s?)*$": {} } },
  "references that double": {
    $ref: "#/$defs/x0",
    $defs: chain(($ref) => ({ allOf: [{ $ref }, { $ref }] })),
  },
  "alternatives that double": {
    $ref: "#/$defs/x0",
    $defs: chain(($ref) => ({ anyOf: [{ allOf: [{ $ref }, false] }, { allOf: [{ $ref }, false] }] })),
  },
  "ids that nest": nested(40, (inner, index) => ({ $id: `u${index}`, properties: { a: inner } })),
  "a reference to itself": { $ref: "#" },
  "a reference elsewhere": { $ref: "http://127.0.0.1:9/schema.json" },
  "a pattern that is none": target({ pattern: "(" }),
  "100,000 levels": nested(100_000, (inner) => ({ not: inner })),
  "a million characters": { description: "x".repeat(1_000_000) },
  "100,000 names": target({ enum: Array.from({ length: 100_000 }, (_, index) => `g${index}`) }),
};

describe("a hostile schema is refused within the time of a few checks, and leaves the check as good as before:", () => {
  const long = {
    decision: { target: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" },
    why: "aaaaaaaaaaaa aaa!",
  };
  for (const [name, schema] of Object.entries(hostile)) {
    test(name, () => {
      const { accepts } = createSchemaCheck();
      const started = performance.now();
      for (let round = 0; round < 20; round++) {
        // patterns of keys do take this answer
        if (!name.startsWith("patterns of keys")) assert.equal(accepts(schema, long), false);
        else accepts(schema, long);
      }
      assert.ok(performance.now() - started < 3000, `${performance.now() - started} ms for 20 checks`);
      assert.equal(accepts(target({ enum: ["capable"] }), answer), true);
    });
  }
});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("thousands of schemas cost no more memory than the outcomes that are kept", () => {
  const { accepts } = createSchemaCheck();
  const padding = "x".repeat(60_000);
  const ask = (count: number) => {
    for (let index = 0; index < count; index++) accepts({ $comment: `${index}${padding}` }, answer);
    collect();
    return process.memoryUsage().heapUsed;
  };
  // 2,000 of them are 120 MB
  const before = ask(50);
  assert.ok(ask(2000) - before < 20e6);
});
