// What is told of a head's training: where the checkpoint has it, and of records in any other form.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { headFacts, headFactsText } from "../../../../src/cli/checkpoint/head-facts.js";
import { fixturePath } from "../../../support/fixtures.js";

const path = join(mkdtempSync(join(tmpdir(), "head-facts-")), "judge");
cpSync(fixturePath("checkpoints/router-json-v1"), path, { recursive: true });
const november = new Date("2026-11-30T12:00:00Z");
utimesSync(join(path, "router.json"), november, november);
after(() => rmSync(path, { recursive: true }));
const textOf = async (training: Parameters<typeof headFacts>[0]["training"]) =>
  headFactsText(await headFacts({ path, training }));

test("rows, date and AUC as train writes them", async () => {
  const aucs = [
    { output: "weak", auc: 0.90549, low: 0.885, high: 0.9234 },
    { output: "strong", auc: null, low: null, high: null },
    { output: "rare", auc: 0.7, low: null, high: null },
  ];
  assert.equal(
    await textOf({ rows: 1065, auc_out_of_fold: aucs }),
    "1065 rows, file of 2026-11-30, AUC out of fold: weak 0.905 [0.885, 0.923], rare 0.700",
  );
});

test("what is not there, or of another form, is not told", async () => {
  const plain = "rows not recorded, file of 2026-11-30";
  assert.equal(await textOf({}), plain);
  assert.equal(await textOf({ rows: "many", auc_out_of_fold: "high" }), plain);
  assert.equal(await textOf({ rows: -1, auc_out_of_fold: [{ output: 7 }] }), plain);
  assert.equal(await textOf({ rows: 5, auc_out_of_fold: null }), "5 rows, file of 2026-11-30");
  const away = await headFacts({ path: join(path, "none"), training: {} });
  assert.equal(headFactsText(away), "rows not recorded");
});
