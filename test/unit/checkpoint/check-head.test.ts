// A head that cannot give a probability is refused when it is read, whatever its format.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkHead } from "../../../src/checkpoint/check-head.js";
import { type Checkpoint, loadCheckpoint } from "../../../src/checkpoint/load.js";
import { writeRouterJson1, writeRouterJson2 } from "../../../src/checkpoint/router-json-write.js";
import { writeSwitchyard } from "../../../src/checkpoint/torch/formats/switchyard-write.js";
import type { HeadWeights, Linear } from "../../../src/head/weights.js";
import { fixturePath, packagePath } from "../../support/fixtures.js";
import { refusal, rejection } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "judge-head-"));
after(() => rmSync(folder, { recursive: true }));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const shared = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
const perOutput = await loadCheckpoint(fixturePath("checkpoints/switchyard-0.3.0/two-models.pt"));
const calibrated = await loadCheckpoint(packagePath("checkpoints/minilm-l6"));

function writeFolder(files: Readonly<Record<string, Uint8Array>>): string {
  const path = mkdtempSync(join(folder, "checkpoint-"));
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(path, name), bytes);
  return path;
}

function withHead(checkpoint: Checkpoint, head: Partial<HeadWeights>): Checkpoint {
  return { ...checkpoint, head: { ...checkpoint.head, ...head } };
}

/** The last layer's bias of each member so large that every p is 1. */
function saturated({ head }: Checkpoint): HeadWeights["members"] {
  const sure = (layer: Linear): Linear => ({ ...layer, bias: layer.bias.map(() => 1e6) });
  return head.members.map((member) =>
    member.kind === "shared"
      ? { ...member, layers: [...member.layers.slice(0, -1), sure(member.layers.at(-1)!)] }
      : { ...member, heads: member.heads.map(sure) },
  );
}

test("a calibration of slope 0 is refused, and one that leaves no room beside 0 and 1", async () => {
  for (const [calibration, finding] of [
    [{ slope: 0, intercept: 0.3 }, /the calibration of output ".+" has slope 0/],
    [{ slope: 1, intercept: 1e300 }, /gets 1 from its calibration for the mean of its training/],
    [{ slope: -1, intercept: -1e300 }, /gets 0 from its calibration for the mean of its training/],
  ] as const) {
    const changed = withHead(calibrated, { calibration: calibrated.head.calibration.map(() => calibration) });
    const { message } = await rejection(
      "checkpoint",
      loadCheckpoint(writeFolder({ ...writeRouterJson2(changed, sha256) })),
    );
    assert.match(message, finding);
  }
});

test("weights that are sure of everything are refused in every format that can be written", async () => {
  const of = (checkpoint: Checkpoint) => withHead(checkpoint, { members: saturated(checkpoint) });
  const file = join(folder, "sure.pt");
  writeFileSync(file, writeSwitchyard(of(perOutput)));
  const paths = [
    writeFolder({ ...writeRouterJson1(of(shared)) }),
    writeFolder({ ...writeRouterJson2(of(shared), sha256) }),
    writeFolder({ ...writeRouterJson2(of(perOutput), sha256) }),
    file,
  ];
  for (const path of paths) {
    const { message } = await rejection("checkpoint", loadCheckpoint(path));
    assert.match(message, /gets 1 from its weights for the mean of its training data, wanted/, path);
  }
});

test("weights whose sums overflow to no number are refused", () => {
  const size = 2;
  const deep = Array.from({ length: 12 }, (): Linear => {
    const weight = new Float32Array(size * size).fill(3e38);
    return { inputSize: size, outputSize: size, weight, bias: new Float32Array(size).fill(3e38) };
  });
  const last: Linear = {
    inputSize: size,
    outputSize: 1,
    weight: Float32Array.of(1, -1),
    bias: new Float32Array(1),
  };
  const [block] = shared.head.blocks;
  const head: HeadWeights = {
    outputNames: ["weak"],
    blocks: [
      {
        ...block!,
        pcaSize: size,
        pcaComponents: block!.pcaComponents.slice(0, size * block!.scalerMean.length),
      },
    ],
    members: [{ kind: "shared", layers: [...deep, last] }],
    calibration: [null],
  };
  assert.match(refusal("checkpoint", () => checkHead(head)).message, /"weak" gets NaN from its weights/);
});
