// A checkpoint of three outputs with costs, made from the embedded smollm2-135m. The third output lies
// between the two others: it is the raw probability of "weak" with another calibration, so that the reference
// values give it too.
import { createHash } from "node:crypto";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import type { Linear, Member } from "../../src/head/weights.js";
import { type ParityRow, packagePath } from "./fixtures.js";

const weak = "mistralai/Mixtral-8x7B-Instruct-v0.1";
const strong = "gpt-4-1106-preview";
const calibration = { slope: 1, intercept: 0.6 };

export const outputs = { weak, middle: "middle", strong };
export const costs = { [weak]: 1, [outputs.middle]: 4, [strong]: 10 };

/** The probabilities of a prompt by output, from the reference. */
export function referenceOf({ probabilities, raw }: ParityRow): Record<string, number> {
  const p = raw[weak]!;
  const odds = (p / (1 - p)) ** calibration.slope * Math.exp(calibration.intercept);
  return {
    [weak]: probabilities[weak]!,
    [outputs.middle]: odds / (1 + odds),
    [strong]: probabilities[strong]!,
  };
}

/** Writes the checkpoint into `folder`. */
export async function writeThreeOutputs(folder: string): Promise<void> {
  const original = await loadCheckpoint(packagePath("checkpoints/smollm2-135m"));
  const { head } = original;
  const from = head.outputNames.indexOf(weak);
  const members = head.members.map((member): Member => {
    if (member.kind !== "shared") throw new Error("wanted members with shared layers");
    return { ...member, layers: [...member.layers.slice(0, -1), withCopy(member.layers.at(-1)!, from)] };
  });
  const outputNames = [...head.outputNames, outputs.middle];
  const content = {
    ...original,
    head: { ...head, members, outputNames, calibration: [...head.calibration, calibration] },
    costs,
  };
  const files = writeRouterJson2(content, (bytes) => createHash("sha256").update(bytes).digest("hex"));
  await saveFiles(folder, { ...files });
}

/** The layer with one more output, which is a copy of the output `from`. */
function withCopy({ inputSize, outputSize, weight, bias }: Linear, from: number): Linear {
  const row = weight.subarray(from * inputSize, (from + 1) * inputSize);
  return {
    inputSize,
    outputSize: outputSize + 1,
    weight: Float32Array.from([...weight, ...row]),
    bias: Float32Array.from([...bias, bias[from]!]),
  };
}
