// Answers against the schemas of requests, the hostile ones among them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSchemaCheck } from "../../../src/answer/schema-check.js";

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
    test(`${name}: ${wanted}`, async () => {
      assert.equal(await accepts(schema, answer), wanted);
      assert.equal(await accepts(structuredClone(schema), answer), wanted, "and again");
    });
  }

  test("is left as it was", async () => {
    const schema = { ...target({ $ref: "#/$defs/g" }), $id: "https://example.com/a", $defs: { g: {} } };
    const copy = structuredClone(schema);
    await accepts(schema, answer);
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

const long = {
  decision: { target: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" },
  why: "aaaaaaaaaaaa aaa!",
};

describe("a hostile schema is refused, and leaves the check as good as before:", () => {
  for (const [name, schema] of Object.entries(hostile)) {
    test(name, async () => {
      const { accepts } = createSchemaCheck();
      const outcome = await accepts(schema, long);
      // patterns of keys do take this answer
      if (!name.startsWith("patterns of keys")) assert.equal(outcome, false);
      assert.equal(await accepts(target({ enum: ["capable"] }), answer), true);
    });
  }
});

describe("while a hostile schema is looked at", () => {
  const slow = (index: number) => target({ pattern: "^(([a-z])+.)+[A-Z]([a-z])+$", $comment: String(index) });

  test("other requests have their turns of the event loop", async () => {
    const { accepts } = createSchemaCheck();
    assert.equal(await accepts(true, answer), true);
    let isOver = false;
    const outcome = accepts(slow(0), long).finally(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver; turns++) await turn();
    assert.equal(await outcome, false);
    assert.ok(turns > 10, `${turns} turns`);
  });

  test("a few wait behind it, more are refused without a look, and none of that is kept", async () => {
    const { accepts } = createSchemaCheck();
    const good = target({ enum: ["capable"] });
    const hostileOnes = Array.from({ length: 40 }, (_, index) => accepts(slow(index), long));
    assert.equal(await accepts(good, answer), false);
    assert.ok((await Promise.all(hostileOnes)).every((outcome) => !outcome));
    assert.equal(await accepts(good, answer), true);
  });

  test("requests with the same schema share one look", async () => {
    const { accepts } = createSchemaCheck();
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => accepts(target({}), answer)));
    assert.ok(outcomes.every((outcome) => outcome));
  });
});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("thousands of schemas cost no more memory than the outcomes that are kept", async () => {
  const { accepts } = createSchemaCheck();
  const padding = "x".repeat(60_000);
  const ask = async (count: number) => {
    for (let index = 0; index < count; index++) await accepts({ $comment: `${index}${padding}` }, answer);
    collect();
    return process.memoryUsage().heapUsed;
  };
  // 2,000 of them are 120 MB
  const before = await ask(50);
  assert.ok((await ask(2000)) - before < 20e6);
});
