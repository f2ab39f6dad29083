// The readers of .pt files under bit flips, cuts and random bytes. Every byte of such a file that means
// something is under a CRC-32 or stands there twice, so a changed file is refused or reads the same. With the
// CRC-32 made right again the pickle machine is on its own: a change may then mean something else, but
// nothing other than a refusal may come of it.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { CheckpointContent } from "../../src/checkpoint/checkpoint-content.js";
import { parseTorchCheckpoint } from "../../src/checkpoint/torch/torch-checkpoint.js";
import { parseTorchZip } from "../../src/checkpoint/torch/zip/torch-zip.js";
import { JudgeError } from "../../src/errors.js";
import { fixturePath } from "../support/fixtures.js";
import { torchZip } from "../support/torch/pickle-builder.js";

const casesPerFile = 1500;
const limitMs = 1000;

type Random = (below: number) => number;

/** mulberry32: the same cases at every run. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** What may happen to a file, each chosen as often as the others. */
const damages: readonly ((bytes: Uint8Array, random: Random) => Uint8Array)[] = [
  (bytes, random) => flipped(bytes, random, 1),
  (bytes, random) => flipped(bytes, random, 1 + random(8)),
  (bytes, random) => bytes.slice(0, random(bytes.length)),
  (bytes, random) => bytes.slice(random(bytes.length)),
  (bytes, random) => spliced(bytes, random(bytes.length), 1 + random(64), new Uint8Array(0)),
  (bytes, random) => spliced(bytes, random(bytes.length), 0, noise(1 + random(64), random)),
  (bytes, random) => {
    const length = 1 + random(64);
    return spliced(bytes, random(bytes.length), length, noise(length, random));
  },
  (bytes, random) => {
    const [from, length] = [random(bytes.length), 1 + random(200)];
    const part = bytes.slice(from, from + length);
    return spliced(bytes, random(bytes.length), part.length, part);
  },
];

function flipped(bytes: Uint8Array, random: Random, count: number): Uint8Array {
  const changed = bytes.slice();
  for (let flip = 0; flip < count; flip++) changed[random(bytes.length)]! ^= 1 << random(8);
  return changed;
}

function spliced(bytes: Uint8Array, place: number, removed: number, added: Uint8Array): Uint8Array {
  return Uint8Array.from([...bytes.slice(0, place), ...added, ...bytes.slice(place + removed)]);
}

function noise(length: number, random: Random): Uint8Array {
  return new Uint8Array(length).map(() => random(256));
}

/** Reads every case; counts how they ended. */
function outcomes(cases: Iterable<Uint8Array>, original: CheckpointContent) {
  const counts = { refused: 0, equal: 0, different: 0, slowestMs: 0 };
  for (const bytes of cases) {
    const started = performance.now();
    try {
      const content = parseTorchCheckpoint(bytes);
      counts[isDeepStrictEqual(content, original) ? "equal" : "different"]++;
    } catch (error) {
      if (!(error instanceof JudgeError) || error.code !== "checkpoint") throw error;
      assert.ok(error.message.length < 300, error.message);
      counts.refused++;
    }
    counts.slowestMs = Math.max(counts.slowestMs, performance.now() - started);
  }
  return counts;
}

function report(context: TestContext, counts: ReturnType<typeof outcomes>): void {
  const { refused, equal, different, slowestMs } = counts;
  context.diagnostic(
    `refused ${refused}, equal ${equal}, different ${different}; slowest ${slowestMs.toFixed(0)} ms`,
  );
  assert.ok(slowestMs < limitMs, `a case took ${slowestMs} ms`);
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.ok(!existsSync("pwned"), "a file was executed");
}

const files = ["llm-router", "switchyard-0.3.0"].flatMap((folder) =>
  readdirSync(fixturePath(`checkpoints/${folder}`))
    .filter((file) => file.endsWith(".pt"))
    .map((file) => `${folder}/${file}`),
);

for (const [index, file] of files.entries()) {
  const bytes = new Uint8Array(readFileSync(fixturePath(`checkpoints/${file}`)));
  const original = parseTorchCheckpoint(bytes);

  test(`${file}: damaged, it is refused or reads the same`, (context) => {
    const random = createRandom(index);
    const cases = function* () {
      for (let count = 0; count < casesPerFile; count++)
        yield damages[count % damages.length]!(bytes, random);
    };
    const counts = outcomes(cases(), original);
    report(context, counts);
    assert.equal(counts.different, 0);
    assert.ok(counts.refused > casesPerFile / 2);
  });

  test(`${file}: with a damaged pickle under a right CRC-32, nothing but a refusal is thrown`, (context) => {
    const random = createRandom(1000 + index);
    const { pickle, storages } = parseTorchZip(bytes);
    const cases = function* () {
      for (let count = 0; count < casesPerFile; count++) {
        yield torchZip(damages[count % damages.length]!(pickle, random), storages);
      }
    };
    const counts = outcomes(cases(), original);
    report(context, counts);
    assert.ok(counts.refused > casesPerFile / 2);
  });
}

test("random bytes are refused", (context) => {
  const random = createRandom(1);
  const cases = function* () {
    for (let count = 0; count < 2000; count++) {
      const bytes = noise(random(2000), random);
      yield count % 2 === 0 ? bytes : torchZip(Uint8Array.from([0x80, 2, ...bytes, 0x2e]));
    }
  };
  const counts = outcomes(cases(), {} as CheckpointContent);
  report(context, counts);
  assert.equal(counts.refused, 2000);
});
