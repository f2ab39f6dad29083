// `sweep` as a real process on the tiny encoder, which has nine hidden states: one pass for all, train rows
// alone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fixturePath, packagePath } from "../support/fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "judge-sweep-"));
after(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);
const run = (...args: string[]) =>
  spawnSync(process.execPath, [packagePath("dist/src/main.js"), ...args], { encoding: "utf8" });
const encoder = fixturePath("tiny-encoder");

interface Row {
  readonly id: string;
  readonly prompt: string;
  readonly split: string;
  readonly labels: Readonly<Record<string, boolean | null>>;
}
const rows: readonly Row[] = Array.from({ length: 150 }, (_, index) => ({
  id: `r${index}`,
  prompt: index % 2 === 0 ? `Add ${index} and ${index * 7}.` : `Explain the history of town number ${index}.`,
  split: index < 100 ? "train" : "test",
  labels: { weak: index % 2 === 0 ? index % 20 !== 0 : index % 15 === 1, strong: index % 9 !== 0 },
}));
const write = (name: string, content: readonly Row[]): string => {
  writeFileSync(path(name), content.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return path(name);
};
const labels = write("labels.jsonl", rows);
const args = (file: string, cache: string) => [
  ...["sweep", "--labels", file, "--encoder", encoder, "--cache", path(cache)],
];

interface Sweep {
  readonly rows: number;
  readonly choices: readonly {
    readonly layer: number;
    readonly pooling: string;
    readonly pca: number;
    readonly auc: Readonly<Record<string, number>>;
    readonly meanAuc: number;
  }[];
  readonly best: {
    readonly layer: number;
    readonly pooling: string;
    readonly pca: number;
    readonly meanAuc: { readonly value: number; readonly low: number; readonly high: number };
  };
}

describe("sweep", () => {
  test("compares every layer, pooling mode and PCA size that was asked for, and names the best", () => {
    const { status, stdout, stderr } = run(...args(labels, "cache"), "--pca", "8", "3", "--json");
    assert.equal(status, 0, stderr);
    const { rows: count, choices, best } = JSON.parse(stdout) as Sweep;
    assert.equal(count, 100);
    const wanted = Array.from({ length: 9 }, (_, layer) => layer).flatMap((layer) =>
      ["mean", "last"].flatMap((pooling) => [3, 8].map((pca) => [layer, pooling, pca])),
    );
    assert.deepEqual(
      choices.map(({ layer, pooling, pca }) => [layer, pooling, pca]),
      wanted,
    );
    for (const { auc, meanAuc } of choices) {
      assert.deepEqual(Object.keys(auc), ["weak", "strong"]);
      assert.ok(Math.abs(meanAuc - (auc.weak! + auc.strong!) / 2) < 1e-12);
    }
    const highest = Math.max(...choices.map(({ meanAuc }) => meanAuc));
    assert.equal(best.meanAuc.value, highest);
    const first = choices.find(({ meanAuc }) => meanAuc === highest)!;
    assert.deepEqual([best.layer, best.pooling, best.pca], [first.layer, first.pooling, first.pca]);
    assert.ok(best.meanAuc.low < highest && highest < best.meanAuc.high);
    assert.ok(first.auc.weak! > 0.8, "an addition is told from a history");
  });

  test("has encoded the train rows once, for every layer and pooling mode; train finds them", () => {
    const sizes = () => readdirSync(path("cache")).map((name) => statSync(join(path("cache"), name)).size);
    assert.deepEqual(sizes(), Array(18).fill(100 * (32 + 4 * 24 + 4)));
    const [, ...input] = args(labels, "cache");
    const choice = ["--layer", "4", "--pooling", "last", "--pca", "8", "--out", path("judge")];
    const { status, stderr } = run("train", ...input, ...choice, "--no-calibration");
    assert.equal(status, 0, stderr);
    assert.deepEqual(sizes(), Array(18).fill(100 * (32 + 4 * 24 + 4)));
  });

  test("prints JSON alone, whatever there is to say of the labels", () => {
    const twice = [...rows, { ...rows[0]!, id: "again", labels: { weak: true, strong: false } }];
    const options = ["--pca", "3", "--layers", "1", "--pooling", "last", "--json"];
    const { status, stdout, stderr } = run(...args(write("twice.jsonl", twice), "cache"), ...options);
    assert.equal(status, 0, stderr);
    assert.equal((JSON.parse(stdout) as Sweep).rows, 100);
    assert.match(
      stderr,
      /^weak: 101 answers to 100 prompts, of which \d were solved in some and not in others/m,
    );
  });

  test("says where no choice differs from chance", () => {
    const noise = rows.map((row, index) => ({ ...row, labels: { weak: (index * 7919) % 13 < 6 } }));
    const options = ["--pca", "2", "--layers", "0", "--pooling", "last"];
    const { status, stdout } = run(...args(write("noise.jsonl", noise), "cache"), ...options);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /^no choice differs from chance \(0\.5\) on these rows: nothing shows that they can be/m,
    );
  });

  test("refuses an encoder folder by the path that was tried, and ~ by itself", () => {
    const tried = (encoder: string) =>
      run("sweep", "--labels", labels, `--encoder=${encoder}`, "--cache", path("cache")).stderr;
    assert.match(
      tried(path("nowhere")),
      new RegExp(`the encoder folder cannot be read: ${path("nowhere")} \\(ENOENT\\)`),
    );
    assert.match(
      tried("~/encoder"),
      /^prefill-judge: --encoder: found ~\/encoder, and ~ means no folder here/m,
    );
  });

  test("does not look at test rows", () => {
    const some = ["--layers", "3", "--pooling", "mean", "--pca", "5", "--json"];
    const others = rows.map((row): Row => {
      if (row.split === "train") return row;
      return { ...row, prompt: `${row.prompt} Or not.`, labels: { weak: !row.labels.weak, strong: true } };
    });
    const changed = run(...args(write("others.jsonl", others), "other-cache"), ...some);
    assert.equal(changed.status, 0, changed.stderr);
    assert.equal(changed.stdout, run(...args(labels, "cache"), ...some).stdout);
    const [file] = readdirSync(path("other-cache"));
    assert.equal(statSync(join(path("other-cache"), file!)).size, 100 * (32 + 4 * 24 + 4));
  });

  test("prints a table, and the options of a training with the best choice", () => {
    const { stdout } = run(...args(labels, "cache"), "--layers", "2", "1");
    assert.match(stdout, /^AUC of logistic regression on 100 rows, out of 5 folds$/m);
    assert.match(stdout, /^layer {2}pooling {2}PCA {2}mean {3}weak {3}strong$/m);
    assert.equal(
      stdout.match(/^[12] {6}(mean|last) {5}24 {3}0\.\d{3} {2}0\.\d{3} {2}0\.\d{3}$/gm)?.length,
      4,
    );
    assert.match(stdout, /^best of 4: 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\];/m);
    assert.match(stdout, /^train --layer [12] --pooling (mean|last) --pca 24$/m);
  });

  test("refuses what the encoder, the rows or the labels do not give, in one line", () => {
    const oneClass = write(
      "one-class.jsonl",
      rows.map((row) => ({ ...row, labels: { weak: true } })),
    );
    const few = write("few.jsonl", rows.slice(0, 20));
    for (const [file, change, message] of [
      [labels, ["--layers", "3", "40"], /--layers 40: encoder \S*tiny-encoder gives 0, 1, 2/],
      [labels, ["--layers", "1.5"], /--layers 1\.5: encoder/],
      [labels, ["--pca", "8", "25"], /--pca 25: 100 rows in 5 folds and 24 features allow 24 at most/],
      [few, ["--pca", "17"], /--pca 17: 20 rows in 5 folds and 24 features allow 16 at most/],
      [labels, ["--pca", "0"], /found "0", wanted a whole number above 0/],
      [labels, ["--pca", "2.5"], /found "2\.5", wanted a whole number above 0/],
      [labels, ["--pooling", "max"], /'--pooling <modes\.\.\.>' argument 'max' is invalid/],
      [oneClass, [], /weak has labels of one class only/],
      [path("nowhere.jsonl"), [], /cannot be read \(ENOENT\)/],
    ] as const) {
      const { status, stderr, stdout } = run(...args(file, "cache"), ...change);
      assert.equal(status, 2, stderr);
      assert.match(stderr, message);
      assert.equal(stdout, "");
    }
  });
});
