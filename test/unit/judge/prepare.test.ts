// What keeps a judge from serving; on the real tiny encoder.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Checkpoint, loadCheckpoint } from "../../../src/checkpoint/load.js";
import type { Linear, Member } from "../../../src/head/weights.js";
import type { JudgeParts } from "../../../src/judge/judge-parts.js";
import { checkLayers, loweredWarning, prepareView } from "../../../src/judge/prepare.js";
import { runSelftest } from "../../../src/judge/selftest.js";
import { fixturePath, tinyRows } from "../../support/fixtures.js";
import { refusal, rejection } from "../../support/refusal.js";
import { tinyEncoder, tinyParts } from "../../support/tiny.js";

const encoder = tinyEncoder();
before(() => encoder.start());
after(() => encoder.close());
const checkpoint = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
const parts = (given: Partial<JudgeParts> = {}) => tinyParts({ encoder, checkpoint, ...given });
const block = checkpoint.head.blocks[0]!;
const withBlock = (change: Partial<typeof block>): Checkpoint => ({
  ...checkpoint,
  head: { ...checkpoint.head, blocks: [{ ...block, ...change }] },
});

test("a view has the encoder's template, and the limit that was asked for or the encoder's own", () => {
  assert.deepEqual(prepareView(parts()), {
    template: "chat",
    templateArguments: {},
    maxTokens: 512,
    truncation: "middle",
  });
  assert.deepEqual(prepareView(parts({ maxTokens: 40, truncation: "right" })), {
    template: "chat",
    templateArguments: {},
    maxTokens: 40,
    truncation: "right",
  });
});

test("a checkpoint that was trained with more tokens than the encoder takes is warned of", () => {
  const view = { template: null, template_sha256: null, truncation: null };
  const trained = (tokens: number) => ({ ...checkpoint, view: { ...view, max_tokens: tokens } });
  const warning = (tokens: number, maxTokens: number | null = null) => {
    const given = parts({ checkpoint: trained(tokens), maxTokens });
    return loweredWarning(given, prepareView(given));
  };
  assert.equal(
    warning(513),
    `at most 512 tokens of a text are read, the checkpoint was trained with 513: encoder ${encoder.id} takes no more`,
  );
  assert.equal(warning(512), null);
  // the user's own choice
  assert.equal(warning(513, 100), null);
});

test("runs of spaces are read as one where the judge or else its checkpoint says so", () => {
  const view = { template: null, template_sha256: null, max_tokens: null, truncation: null };
  const trained = (spaces?: "single" | "keep"): Checkpoint => ({
    ...checkpoint,
    view: { ...view, ...(spaces && { spaces }) },
  });
  const spacesOf = (given: Partial<JudgeParts>) => prepareView(parts(given)).spaces;
  assert.equal(spacesOf({}), undefined);
  assert.equal(spacesOf({ checkpoint: trained() }), undefined);
  assert.equal(spacesOf({ checkpoint: trained("single") }), "single");
  assert.equal(spacesOf({ checkpoint: trained("single"), spaces: "keep" }), undefined);
  assert.equal(spacesOf({ checkpoint: trained("keep"), spaces: "single" }), "single");
});

test("max_tokens must leave room for a text and not exceed the encoder's", () => {
  const smallest = encoder.facts.templateTokens.chat + 8;
  for (const maxTokens of [smallest, 512])
    assert.equal(prepareView(parts({ maxTokens })).maxTokens, maxTokens);
  for (const maxTokens of [1, smallest - 1, 513]) {
    const { message } = refusal("config", () => prepareView(parts({ maxTokens })));
    const wanted = `judges.tiny-judge.max_tokens is ${maxTokens}, encoder tiny takes ${smallest} to 512 tokens`;
    assert.equal(message, wanted);
  }
});

test("a head of another hidden size is refused with both sides and the encoder it was trained on", () => {
  const { message } = refusal("checkpoint", () =>
    prepareView(parts({ checkpoint: withBlock({ hiddenSize: 48 }) })),
  );
  assert.match(message, /wants hidden size 48, encoder tiny has 24; .*\(example\/tiny-encoder\)/);
});

test("a head of layers that the encoder does not give is refused with those", async () => {
  const given = parts({ checkpoint: withBlock({ layers: [0, 9, 30] }) });
  const { message } = refusal("checkpoint", () => checkLayers(given));
  assert.match(message, /wants hidden states 9, 30, encoder tiny gives 0, 1, 2, 3, 4, 5, 6, 7, 8;/);
});

describe("the selftest", () => {
  const [row] = tinyRows();
  /** a selftest of the first reference prompt, with these probabilities and ids */
  const selftest = (weak: number, given: object = {}): NonNullable<Checkpoint["selftest"]> => ({
    reference: "the test",
    tolerance: 1e-4,
    files: {},
    prompts: [
      { prompt: row!.prompt, inputIds: row!.input_ids, probabilities: { weak, strong: 0.5 }, ...given },
    ],
  });
  /** a head whose probabilities are 0.5 for every text: all members' last layers are zero */
  const halves: Checkpoint["head"] = {
    ...checkpoint.head,
    members: checkpoint.head.members.map((member) =>
      withLast(member, { weight: new Float32Array(16), bias: new Float32Array(2) }),
    ),
  };
  const run = (test: Checkpoint["selftest"], head = halves) => {
    const given = parts({ checkpoint: { ...checkpoint, head, selftest: test } });
    return runSelftest(given, prepareView(given));
  };

  test("passes where ids and probabilities come out again, and where there is none", async () => {
    await run(selftest(0.5));
    await run(selftest(0.50009));
    await run(null);
  });
  test("refuses a probability beyond the tolerance, by prompt and output", async () => {
    for (const weak of [0.4998, 0.5002]) {
      const { message } = await rejection("checkpoint", run(selftest(weak)));
      assert.match(message, /selftest: prompt 1, output weak: .* differs by 0\.000200 .* restore/);
    }
  });
  test("refuses an output for which the reference has no probability", async () => {
    await rejection("checkpoint", run(selftest(0.5, { probabilities: { weak: 0.5 } })));
  });
  test("refuses other token ids", async () => {
    const inputIds = row!.input_ids.with(3, 4);
    const { message } = await rejection("checkpoint", run(selftest(0.5, { inputIds })));
    assert.match(message, /prompt 1 gives other token ids than the reference; the tokenizer/);
  });
  test("refuses another file of checkpoint or encoder, and one that is missing", async () => {
    const hash = "0".repeat(64);
    for (const path of [
      "router.json",
      "router.safetensors",
      "encoder/model.onnx",
      "encoder/tokenizer.json",
    ]) {
      const { message } = await rejection("checkpoint", run({ ...selftest(0.5), files: { [path]: hash } }));
      assert.match(message, new RegExp(`selftest: ${path} has another SHA-256 .* restore`));
    }
    const { message } = await rejection(
      "checkpoint",
      run({ ...selftest(0.5), files: { "encoder/x.json": hash } }),
    );
    assert.match(message, /encoder\/x\.json is missing/);
  });
  test("is finite arithmetic only: a NaN in the head does not pass", async () => {
    const members = halves.members.map((member) =>
      withLast(member, { bias: new Float32Array(2).fill(Number.NaN) }),
    );
    await rejection("checkpoint", run(selftest(0.5), { ...halves, members }));
  });
});

/** The member with other values in its last layer. */
function withLast(member: Member, values: Partial<Linear>): Member {
  if (member.kind !== "shared") throw new Error("wanted a shared trunk");
  const last = member.layers.at(-1)!;
  return { ...member, layers: [...member.layers.slice(0, -1), { ...last, ...values }] };
}
