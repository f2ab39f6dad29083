// Which rows a command takes by their split, and the form of a label file.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Terminal } from "../../../src/cli/terminal.js";
import { trainingRows } from "../../../src/cli/train/train-input.js";
import { checkSplits, readLabels } from "../../../src/labels/label-file.js";
import { parseLabels } from "../../../src/labels/labels.js";
import { refusal, rejection } from "../../support/refusal.js";
import { textReader } from "../../support/train/text-reader.js";

const terminal = { note() {}, print() {} } as unknown as Terminal;

/** Two rows of each split, one solved and one not. */
function labelsOf(...splits: (string | null)[]) {
  const rows = splits.flatMap((split, index) =>
    [true, false].map((weak) => ({ prompt: `${index} ${weak}`, split, labels: { weak } })),
  );
  return parseLabels(rows.map((row) => JSON.stringify(row)).join("\n"), "jsonl", textReader);
}

describe("the rows of a training", () => {
  const chosen = (splits: (string | null)[], trainSplit?: string) => {
    const view = { truncation: "middle", spaces: "keep", envelopes: "keep" } as const;
    const input = { labels: "l.jsonl", encoder: "e", trainSplit, cache: "c", ...view };
    return trainingRows(labelsOf(...splits), input, terminal).rows.map(({ split }) => split);
  };

  test("are those of split train, or of the one that is named; all where no row names one", () => {
    assert.deepEqual(chosen(["train", "test", null]), ["train", "train"]);
    assert.deepEqual(chosen(["train", "fit"], "fit"), ["fit", "fit"]);
    assert.deepEqual(chosen([null, null]), [null, null, null, null]);
  });

  const refused: readonly (readonly [splits: (string | null)[], trainSplit: string | undefined, RegExp])[] = [
    [
      ["train", "test"],
      "trian",
      /^l\.jsonl: --train-split: no row is of split "trian"; the file has "train" \(2 rows\), "test" \(2 rows\)$/,
    ],
    [
      ["Train", "Test"],
      undefined,
      /no row is of split "train"; the file has "Train" \(2 rows\), "Test" \(2 rows\)$/,
    ],
    [["test", null], undefined, /the file has "test" \(2 rows\)$/],
    [[null], "train", /no row is of split "train"; no row names one$/],
  ];
  for (const [splits, trainSplit, message] of refused) {
    test(`are refused: ${splits.join(", ")} without ${trainSplit ?? "train"}`, () => {
      assert.match(refusal("usage", () => chosen(splits, trainSplit)).message, message);
    });
  }
});

describe("the rows of an evaluation", () => {
  const check = (splits: (string | null)[], choice: { split?: string; trainSplit?: string }) =>
    checkSplits(labelsOf(...splits), choice, "l.jsonl");

  test("are any where train is there, no row names a split, or the user named what is there", () => {
    check(["train", "test"], {});
    check([null], {});
    check(["Train", "Test"], { split: "Test" });
    check(["Train", "Test"], { trainSplit: "Train" });
  });

  const refused: readonly (readonly [(string | null)[], { split?: string; trainSplit?: string }, RegExp])[] =
    [
      [
        ["Train", "Test"],
        {},
        /no row is of split "train"; the file has "Train" .*--split, or .*--train-split$/,
      ],
      [
        ["train", "test"],
        { split: "tset" },
        /^l\.jsonl: --split: no row is of split "tset"; the file has "train"/,
      ],
      [["train", "test"], { trainSplit: "trian" }, /--train-split: no row is of split "trian"/],
      [
        ["train", "test"],
        { split: "test", trainSplit: "trian" },
        /--train-split: no row is of split "trian"/,
      ],
    ];
  for (const [splits, choice, message] of refused) {
    test(`are refused: ${splits.join(", ")} with ${JSON.stringify(choice)}`, () => {
      assert.match(refusal("usage", () => check(splits, choice)).message, message);
    });
  }
});

describe("the form of a label file", () => {
  const folder = mkdtempSync(join(tmpdir(), "judge-label-file-"));
  after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const csv = "question,model,isCorrect\nWhy?,weak,True\n";
  const json = '{"prompt":"Why?","labels":{"weak":true}}\n';

  test("goes by the ending in any letter case, else by how the text starts", async () => {
    for (const [name, content] of [
      ["a.csv", csv],
      ["a.CSV", csv],
      ["csv-without-ending", csv],
      ["a.jsonl", json],
      ["a.NDJSON", json],
      ["a.txt", `\uFEFF\n${json}`],
    ] as const) {
      assert.equal((await readLabels(write(name, content), [])).rows[0]?.text, "Why?", name);
    }
  });

  test("a file that is no UTF-8 is refused by its name, line and byte", async () => {
    const file = write("latin1.csv", Buffer.from("question,model,isCorrect\ncl\xe9?,weak,True\n", "latin1"));
    const { message } = await rejection("usage", readLabels(file, []));
    assert.match(message, /latin1\.csv line 2, byte 3 of the line: found 0xE9, which is not UTF-8/);
  });
});
