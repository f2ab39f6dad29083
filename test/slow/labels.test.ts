// `evaluate`, `calibrate` and `labels import` as real processes, on the tiny judge and labels made here.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { EvaluationReport } from "../../src/evaluate/evaluate.js";
import { fixturePath, packagePath } from "../support/fixtures.js";
import { tinyConfig } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-labels-"));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const run = (...args: string[]) =>
  spawnSync(process.execPath, [packagePath("dist/src/main.js"), ...args], { encoding: "utf8" });

const config = write("tiny.toml", tinyConfig);
const prompts = Array.from(
  { length: 60 },
  (_, index) => `Task ${index}: ${"add the numbers ".repeat(index % 7)}`,
);
const scored = run(
  "score",
  "--config",
  config,
  "--file",
  write("prompts.jsonl", prompts.map((prompt) => JSON.stringify({ prompt })).join("\n")),
);
const p = scored.stdout
  .trim()
  .split("\n")
  .map((line) => (JSON.parse(line) as { p_solve: number }).p_solve);
const median = p.toSorted((a, b) => a - b)[30]!;
/** Labels that the judge's own output ranks without a fault; two thirds for evaluation. */
const rows = prompts.map((prompt, index) => ({
  id: `r${index}`,
  prompt,
  split: index % 3 === 0 ? "train" : "test",
  group: index % 2 === 0 ? "even" : "odd",
  labels: { weak: p[index]! >= median, strong: true },
}));
const labels = write("labels.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));

describe("evaluate", () => {
  test("reports the judge's figures with intervals, and the floors fitted on the train rows", () => {
    const { status, stdout, stderr } = run("evaluate", "--config", config, "--labels", labels, "--json");
    assert.equal(status, 0, stderr);
    const report = JSON.parse(stdout) as EvaluationReport;
    const [weak] = report.outputs;
    assert.equal(report.rows, 40);
    assert.equal(weak!.output, "weak");
    assert.equal(weak!.all.judge.auc.value, 1);
    assert.deepEqual(
      weak!.all.against.map(({ name }) => name),
      ["constant", "group base rate", "TF-IDF"],
    );
    assert.equal(weak!.all.against[0]!.judgeMinus.auc.value, 0.5);
    assert.deepEqual(weak!.groups.map(({ name }) => name).sort(), ["even", "odd"]);
  });

  test("prints tables for a reader, and the wrong decisions as CSV", () => {
    const errors = join(folder, "errors.csv");
    const threshold = String(median + 1e-6);
    const { status, stdout } = run(
      "evaluate",
      "--config",
      config,
      "--labels",
      labels,
      "--threshold",
      threshold,
      "--errors",
      errors,
    );
    assert.equal(status, 0);
    assert.match(stdout, /^0\.10 +\d+\.\d % \[\d+\.\d, \d+\.\d\] +\d+\.\d % \[/m);
    assert.match(stdout, /weak: 40 labelled rows, .* solved\n\n.*judge +constant \(judge minus it\)/);
    assert.match(stdout, /^AUC +1\.000 \[1\.000, 1\.000\] +0\.500 \(\+0\.500/m);
    assert.match(readFileSync(errors, "utf8"), /^id,split,group,source,p_solve,solved,error,prompt\n/);
  });

  test("refuses a place for the wrong decisions that cannot be written, before anything is scored", () => {
    const errors = join(labels, "wrong.csv");
    const { status, stdout, stderr } = run(
      "evaluate",
      "--config",
      config,
      "--labels",
      labels,
      "--errors",
      errors,
    );
    assert.deepEqual([status, stdout], [2, ""]);
    assert.equal(
      stderr,
      `prefill-judge: ${labels} cannot be written (EEXIST); give the path of a writable folder\n`,
    );
  });

  test("compares with recorded scores of another judge, by row id", () => {
    const scores = write(
      "scores.jsonl",
      rows.map(({ id }, index) => JSON.stringify({ id, p_solve: 1 - p[index]! })).join("\n"),
    );
    const { stdout } = run("evaluate", "--config", config, "--labels", labels, "--against", scores, "--json");
    const report = JSON.parse(stdout) as EvaluationReport;
    const other = report.outputs[0]!.all.against.at(-1)!;
    assert.equal(other.name, scores);
    assert.equal(other.figures.auc.value, 0);
    assert.equal(other.judgeMinus.auc.value, 1);
  });

  test("compares with another checkpoint on the same encoder, in the order that was asked for", () => {
    const scores = write("other-scores.jsonl", JSON.stringify({ id: "r1", p_solve: 0.5 }));
    const same = fixturePath("checkpoints/router-json-v1");
    const args = ["evaluate", "--config", config, "--labels", labels, "--json", "--against"];
    const { stdout } = run(...args, same, scores, same);
    const report = JSON.parse(stdout) as EvaluationReport;
    const against = report.outputs[0]!.all.against.slice(-3);
    assert.deepEqual(
      against.map(({ name, rows, agreement }) => [name, rows, agreement.value]),
      [
        [same, 40, 1],
        [scores, 1, against[1]!.agreement.value],
        [same, 40, 1],
      ],
    );
    assert.equal(against[0]!.judgeMinus.auc.value, 0);
    assert.deepEqual(
      report.pools.map(({ name }) => name).filter((name) => name === same),
      [same, same],
    );
  });

  test("draws the cost-coverage curve of a pool from a file of costs", () => {
    const costs = write("costs.toml", "weak = 0.001\nstrong = 0.02\n");
    const args = ["evaluate", "--config", config, "--labels", labels, "--costs", costs];
    const report = JSON.parse(run(...args, "--json").stdout) as EvaluationReport;
    const { curve, outputs, oracle } = report.pools[0]!;
    assert.deepEqual(
      outputs.map(({ output, meanCost }) => [output, meanCost!.value!.toFixed(6)]),
      [
        ["weak", "0.001000"],
        ["strong", "0.020000"],
      ],
    );
    const test = rows.filter(({ split }) => split === "test");
    const weakShare = test.filter(({ labels }) => labels.weak).length / test.length;
    const cheapest = weakShare * 0.001 + (1 - weakShare) * 0.02;
    assert.ok(Math.abs(oracle.meanCost!.value! - cheapest) < 1e-9);
    assert.equal(curve.length, 21);
    assert.equal(curve.at(-1)!.meanCost!.value!.toFixed(6), "0.001000");
    const text = run(...args).stdout;
    assert.match(text, /^tolerance +solved +minus best single +cost +weak +strong$/m);
    assert.match(text, /^1\.00 .* 0\.001000 +100\.0 % +0\.0 %$/m);
  });

  test("refuses costs that do not cover the outputs, before anything is scored", () => {
    for (const [content, message] of [
      ["weak = 1\n", /few\.toml: "strong" has no cost; give one to every output/],
      ["weak = 1\nstrnog = 2\n", /few\.toml: no output is named "strnog"; the nearest known one is strong/],
      ["weak = -1\nstrong = 2\n", /few\.toml: "weak": found -1, wanted a number of 0 or more/],
    ] as const) {
      const costs = write("few.toml", content);
      const { status, stderr } = run("evaluate", "--config", config, "--labels", labels, "--costs", costs);
      assert.equal(status, 2);
      assert.match(stderr, message);
    }
  });

  test("refuses checkpoints of other outputs, and scores that are none", () => {
    const args = ["evaluate", "--config", config, "--labels", labels, "--against"];
    const four = fixturePath("checkpoints/router-json-v1-four-outputs");
    const broken = write("broken-scores.jsonl", '{"p_solve": 1}');
    for (const [path, message] of [
      [four, /labels\.jsonl labels weak, strong, .*four-outputs predicts .*; name the outputs alike\n$/],
      [join(folder, "nowhere"), /nowhere: router\.json is missing/],
      [broken, /broken-scores\.jsonl: row 1 \(line 1\), field id: /],
    ] as const) {
      const { status, stderr } = run(...args, path);
      assert.equal(status, 2, stderr);
      assert.match(stderr, message);
    }
  });

  test("leaves rows out that were trained on, where it is asked to, and says how many", () => {
    const again = { ...rows[0]!, id: "again", split: "test", prompt: `${rows[0]!.prompt}\u200B` };
    const file = write("overlap.jsonl", [...rows, again].map((row) => JSON.stringify(row)).join("\n"));
    const args = ["evaluate", "--config", config, "--labels", file, "--json"];
    const refused = run(...args);
    const target = ["--target-weak-share", "0.5"];
    assert.equal(refused.status, 2);
    assert.equal(run("calibrate", ...args.slice(1), ...target).stderr, refused.stderr);
    assert.equal(run("calibrate", ...args.slice(1), ...target, "--drop-overlap").status, 0);
    assert.match(
      refused.stderr,
      /^prefill-judge: 1 of 41 rows to measure on are rows of the training: "again" \("r0" in/,
    );
    const { status, stdout, stderr } = run(...args, "--drop-overlap");
    assert.equal(status, 0, stderr);
    assert.equal((JSON.parse(stdout) as EvaluationReport).rows, 40);
    assert.match(stderr, /^1 of 41 rows to measure on are rows of the training, and are left out$/m);
  });

  test("refuses a split that no row is of, and train rows under another name", () => {
    const renamed = write(
      "renamed.jsonl",
      rows
        .map((row) => JSON.stringify({ ...row, split: row.split === "test" ? "Test" : "Train" }))
        .join("\n"),
    );
    const named = '"Train" \\(20 rows\\), "Test" \\(40 rows\\)';
    const target = ["--target-weak-share", "0.5"];
    for (const [args, message] of [
      [["evaluate"], `no row is of split "train"; the file has ${named}; name those to evaluate`],
      [["evaluate", "--split", "test"], `--split: no row is of split "test"; the file has ${named}`],
      [
        ["calibrate", ...target, "--train-split", "train"],
        `--train-split: no row is of split "train"; .*${named}`,
      ],
    ] as const) {
      const { status, stderr } = run(...args, "--config", config, "--labels", renamed);
      assert.equal(status, 2, stderr);
      assert.match(stderr, new RegExp(message));
    }
    const own = ["--split", "Test", "--train-split", "Train"];
    const { status, stdout } = run("evaluate", "--config", config, "--labels", renamed, ...own);
    assert.equal(status, 0);
    assert.match(stdout, /on 40 rows .*TF-IDF/s);
  });

  test("refuses rows that the judge was trained on, and labels of other models", () => {
    const overlap = run("evaluate", "--config", config, "--labels", labels, "--split", "train");
    assert.equal(overlap.status, 2);
    assert.match(overlap.stderr, /r0/);
    const other = write("other.jsonl", '{"id":"a","prompt":"x","labels":{"other":true}}');
    const { status, stderr } = run("evaluate", "--config", config, "--labels", other);
    assert.equal(status, 2);
    assert.match(stderr, /labels other, the judge predicts weak, strong/);
  });
});

describe("calibrate", () => {
  const calibrate = (...args: string[]) => run("calibrate", "--config", config, "--labels", labels, ...args);

  test("gives the threshold of a weak share, with the line for routes.toml", () => {
    const { status, stdout, stderr } = calibrate("--target-weak-share", "0.5");
    assert.equal(status, 0, stderr);
    const threshold = Number(/^base_threshold = (\d\.\d{4})$/m.exec(stdout)![1]);
    const test = rows.flatMap(({ split }, index) => (split === "test" ? [p[index]!] : []));
    const share = test.filter((value) => value >= threshold - 1e-4).length / test.length;
    assert.ok(Math.abs(share - 0.5) <= 0.05, `share ${share}`);
  });

  test("refuses a share in percent, and ends in exit code 1 where no threshold reaches the target", () => {
    const { status, stderr } = calibrate("--target-weak-share", "20");
    assert.equal(status, 2);
    assert.match(stderr, /--target-weak-share: found 20, wanted a share of 0 to 1, such as 0\.2 for 20 %/);
    const unreached = calibrate(
      "--max-cost",
      "0",
      "--strong",
      "strong",
      "--costs",
      write("dear.toml", "weak = 1\nstrong = 2\n"),
    );
    assert.equal(unreached.status, 1, unreached.stderr);
    assert.match(unreached.stdout, /^no threshold reaches the target/);
  });

  test("warns where no row names a split: rows of the training may be among them", () => {
    const file = write("no-split.jsonl", rows.map(({ split: _, ...row }) => JSON.stringify(row)).join("\n"));
    for (const args of [["evaluate"], ["calibrate", "--target-weak-share", "0.5"]]) {
      const { status, stderr } = run(...args, "--config", config, "--labels", file);
      assert.equal(status, 0, stderr);
      assert.match(stderr, /^no row names a split: rows that the judge was trained on are measured, too/m);
    }
    assert.doesNotMatch(calibrate("--target-weak-share", "0.5").stderr, /no row names a split/);
  });

  test("gives the threshold of an accuracy of the route", () => {
    const { stdout } = calibrate("--min-accuracy", "1", "--strong", "strong", "--json");
    const choice = JSON.parse(stdout) as { baseThreshold: { value: number }; accuracyOf: string };
    assert.equal(choice.accuracyOf, "route");
    assert.ok(Math.abs(choice.baseThreshold.value - median) < 0.02);
  });

  test("gives the threshold of a mean cost, from a file of costs", () => {
    const costs = write("route-costs.json", '{"weak": 1, "strong": 5}');
    const args = ["--strong", "strong", "--costs", costs];
    const { stdout } = calibrate(...args, "--max-cost", "3", "--json");
    const choice = JSON.parse(stdout) as { weakShare: { value: number }; meanCost: { value: number } };
    assert.equal(choice.weakShare.value, 0.5);
    assert.equal(choice.meanCost.value, 3);
    assert.match(calibrate(...args, "--max-cost", "3").stdout, /^mean cost +3\.000 \[/m);
  });

  test("takes another output of the judge as the weak model", () => {
    const args = ["--target-weak-share", "0.5", "--json"];
    const threshold = (...more: string[]) =>
      (JSON.parse(calibrate(...args, ...more).stdout) as { baseThreshold: { value: number } }).baseThreshold;
    assert.deepEqual(threshold("--weak", "weak"), threshold());
    assert.notDeepEqual(threshold("--weak", "strong"), threshold());
    const { status, stderr } = calibrate(...args, "--weak", "other");
    assert.equal(status, 2);
    assert.match(stderr, /--weak: the judge predicts weak, strong; name one of these/);
  });

  test("refuses a cost without the other model, without costs, and costs the wrong way round", () => {
    const costs = write("dear.toml", "weak = 5\nstrong = 1\n");
    for (const [args, message] of [
      [["--max-cost", "3"], /--max-cost needs --strong/],
      [["--max-cost", "3", "--strong", "strong"], /the checkpoint has no costs .*; give --costs/],
      [["--max-cost", "3", "--strong", "strong", "--costs", costs], /costs 5 with the weak model and 1 with/],
      [["--min-accuracy", "0.5", "--costs", costs], /--costs belongs to --max-cost/],
    ] as const) {
      const { status, stderr } = calibrate(...args);
      assert.equal(status, 2, stderr);
      assert.match(stderr, message);
    }
  });

  test("refuses rows that the judge was trained on, by their split or their text, as evaluate does", () => {
    const copied = { ...rows[0]!, id: "copy", split: "test", prompt: `  ${rows[0]!.prompt.toUpperCase()} ` };
    const leaking = write("leaking.jsonl", [...rows, copied].map((row) => JSON.stringify(row)).join("\n"));
    for (const [args, message] of [
      [
        ["--labels", labels, "--split", "train"],
        /: 20 of 20 rows to measure on are rows of the training: "r0", /,
      ],
      [
        ["--labels", leaking],
        /: 1 of 41 rows to measure on are rows of the training: "copy" \("r0" in training\); /,
      ],
    ] as const) {
      const choice = run("calibrate", "--config", config, ...args, "--target-weak-share", "0.5");
      const evaluation = run("evaluate", "--config", config, ...args);
      assert.deepEqual([choice.status, choice.stdout], [2, ""]);
      assert.match(choice.stderr, message);
      assert.equal(choice.stderr, evaluation.stderr);
    }
  });

  test("wants one target", () => {
    for (const args of [[], ["--target-weak-share", "0.5", "--min-accuracy", "0.9"]]) {
      const { status, stderr } = calibrate(...args);
      assert.equal(status, 2);
      assert.match(stderr, /give one target/);
    }
    assert.match(calibrate("--target-weak-share", "half").stderr, /found "half", wanted a number/);
  });
});

describe("labels import routellm", () => {
  /** A clone with the layout and the headers of the real one; the questions are made here. */
  function makeClone(name: string, folder: string, gsm8k: string): string {
    mkdirSync(join(path(name), folder, "mmlu/responses"), { recursive: true });
    mkdirSync(join(path(name), folder, "gsm8k"), { recursive: true });
    write(
      `${name}/${folder}/mmlu/responses/mmlu_algebra.csv`,
      'prompt,weak,strong\n"1+1?\nA. 2\nAnswer:",True,True\nQ2,False,True\nq2 ,True,True\n',
    );
    write(
      `${name}/${folder}/mmlu/responses/mmlu_virology.csv`,
      ",prompt,strong,weak\n0,V1,False,True\n1,V2,True,False\n",
    );
    write(`${name}/${folder}/gsm8k/gsm8k_responses.csv`, gsm8k);
    return path(name);
  }
  const path = (name: string) => join(folder, name);
  const gsm8kRows = Array.from({ length: 20 }, (_, index) => {
    return `"g${index}, how many?",${index % 2 === 0 ? "True" : "False"},False," He has 3, so\n#### ""3""",True`;
  });
  const gsm8k = `prompt,weak,strong,weak_response,strong_response\n${gsm8kRows.join("\n")}\n`;

  for (const layout of ["routellm/evals", "src/routellm/evals", "evals", "."]) {
    test(`brings both benchmarks into rows from ${layout}, answers left out, a broken column null`, () => {
      const clone = makeClone(`clone-${layout.replaceAll("/", "-")}`, layout, gsm8k);
      const output = path("imported.jsonl");
      const { status, stdout, stderr } = run("labels", "import", "routellm", clone, output);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /24 rows from 3 files, 1 duplicates left out\ngsm8k: strong solved 0\.0 %/);
      assert.match(
        stderr,
        /^the rows have no split, and the embedded judges were trained on a part of RouteLLM's records, [^\n]*\n$/,
      );
      const imported = readFileSync(output, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      assert.deepEqual(imported[0], {
        id: "algebra-1",
        prompt: "1+1?\nA. 2\nAnswer:",
        group: "algebra",
        source: "measured",
        labels: { weak: true, strong: true },
      });
      assert.deepEqual(imported[2].labels, { strong: false, weak: true });
      assert.deepEqual(imported[4], {
        id: "gsm8k-1",
        prompt: "g0, how many?",
        group: "gsm8k",
        source: "measured",
        labels: { weak: true, strong: null },
      });
    });
  }

  test("names the file, and what of it is wrong", () => {
    const cases: readonly (readonly [gsm8k: string, message: RegExp])[] = [
      [
        "question,answer\nx,y\n",
        /gsm8k_responses\.csv: header: found "question", "answer", wanted a column prompt/,
      ],
      [
        "prompt,weak\nx,maybe\n",
        /gsm8k_responses\.csv line 2, column "weak": found another value, wanted True or/,
      ],
      ["prompt,weak_response\nx,text\n", /column "weak_response": found another value/],
      ['prompt,weak\n"x,True\n', /gsm8k_responses\.csv: line 2: found a quote that is not closed/],
    ];
    for (const [index, [content, message]] of cases.entries()) {
      const clone = makeClone(`broken-${index}`, "routellm/evals", content);
      const { status, stderr } = run("labels", "import", "routellm", clone, path("none.jsonl"));
      assert.equal(status, 2, stderr);
      assert.match(stderr, message);
    }
    const { status, stderr } = run("labels", "import", "routellm", folder, path("none.jsonl"));
    assert.equal(status, 2);
    assert.match(
      stderr,
      /has no mmlu\/responses\/mmlu_\*\.csv in routellm\/evals, src\/routellm\/evals, evals or itself/,
    );
  });
});
