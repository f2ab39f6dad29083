// Names of judges; the judges are real ones on encoders that have not been started.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import { createJudge } from "../../../src/judge/judge.js";
import { createRegistry } from "../../../src/judge/registry.js";
import { fixturePath } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";
import { tinyEncoder, tinyParts } from "../../support/tiny.js";

const checkpoint = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
const judge = (id: string, aliases: string[] = []) =>
  createJudge(tinyParts({ id, aliases, checkpoint, encoder: tinyEncoder() }));
const served = (id: string, aliases: string[] = []) => ({ judge: judge(id, aliases), verdict: `of ${id}` });
const one = served("one", ["first", "uno"]);
const two = served("two", ["second"]);

test("a judge is found by its id and by its aliases", () => {
  const registry = createRegistry([one, two], null);
  for (const name of ["one", "first", "uno"]) assert.equal(registry.find(name), one);
  for (const name of ["two", "second"]) assert.equal(registry.find(name), two);
  assert.deepEqual(registry.names, ["one", "first", "uno", "two", "second"]);
});

test("without default_judge an unknown name is model_not_found, and the first judge answers for none", () => {
  const registry = createRegistry([one, two], null);
  for (const name of ["three", "", "ONE", "one ", "__proto__", "constructor"]) {
    assert.equal(refusal("model_not_found", () => registry.find(name)).param, "model");
    assert.equal(registry.lookUp(name), null);
  }
  assert.equal(registry.first, one);
});

test("default_judge, by id or alias, answers unknown names and requests without one, but has no further names", () => {
  for (const name of ["two", "second"]) {
    const registry = createRegistry([one, two], name);
    assert.equal(registry.find("gpt-4"), two);
    assert.equal(registry.find("one"), one);
    assert.equal(registry.first, two);
    assert.equal(registry.lookUp("gpt-4"), null);
  }
});

test("a name that two judges share is refused together with both", () => {
  for (const other of [served("other", ["uno"]), served("first"), served("one")]) {
    const { message } = refusal("config", () => createRegistry([one, other], null));
    assert.match(message, new RegExp(`^judges one and ${other.judge.id} both answer to "(uno|first|one)"`));
  }
});

test("an alias that repeats within a judge is refused", () => {
  refusal("config", () => createRegistry([served("a", ["b", "b"])], null));
  refusal("config", () => createRegistry([served("a", ["a"])], null));
});

test("a judge that has not been prepared makes nothing ready", () => {
  assert.equal(createRegistry([one, two], null).ready, false);
});
