// inspect, convert and verify as a user meets them: real processes, their output and their exit codes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { parseSafetensors } from "../../src/checkpoint/safetensors.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import { fixturePath, judgedRows, packagePath, readJson } from "../support/fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "judge-commands-"));
after(() => rmSync(folder, { recursive: true }));
const newPath = () => join(mkdtempSync(join(folder, "out-")), "checkpoint");
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const minilm = packagePath("checkpoints/minilm-l6");
const encoder = join(minilm, "encoder");
const tiny = fixturePath("checkpoints/router-json-v1");

function run(...args: readonly string[]) {
  const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: "utf8",
    env: { ...process.env, PREFILL_JUDGE_DEADLINE_MS: "60000" },
  });
  return { code: status, output: stdout, errors: stderr };
}

function succeeds(...args: readonly string[]): string {
  const { code, output, errors } = run(...args);
  assert.deepEqual([code, errors], [0, ""]);
  return output;
}

/** One line on standard error, nothing on standard output, exit code 2. */
function isRefused(args: readonly string[], ...parts: readonly RegExp[]): void {
  const { code, output, errors } = run(...args);
  assert.deepEqual([code, output], [2, ""], errors);
  assert.match(errors, /^prefill-judge: [^\n]+\n$/);
  for (const part of parts) assert.match(errors, part);
}

/** A calibrated copy of the tiny head that format 1 cannot hold. */
async function calibrated(): Promise<string> {
  const path = newPath();
  const content = await loadCheckpoint(tiny);
  const head = { ...content.head, calibration: [{ slope: 1.25, intercept: -0.5 }, null] };
  const costs = { weak: 0.25, strong: 10 };
  await saveFiles(path, { ...writeRouterJson2({ ...content, head, costs, message: "latest" }, sha256) });
  return path;
}

describe("convert --selftest", () => {
  const tinyEncoder = fixturePath("tiny-encoder");

  test("makes a selftest on the encoder, which verify then passes, and a damaged head does not", () => {
    const out = newPath();
    const prompts = join(folder, "prompts.txt");
    writeFileSync(prompts, "Name a river.\n\nWhat is 7 times 8?\n");
    assert.match(succeeds("inspect", tiny), /^selftest +none$/m);
    succeeds("convert", tiny, out, "--selftest", prompts, "--encoder", tinyEncoder);
    const selftest = JSON.parse(readFileSync(join(out, "selftest.json"), "utf8"));
    assert.deepEqual(
      selftest.prompts.map(({ prompt }: { prompt: string }) => prompt),
      ["Name a river.", "What is 7 times 8?"],
    );
    assert.match(selftest.reference, /by convert on cpu$/);
    assert.match(succeeds("verify", out, "--encoder", tinyEncoder), /^2 rows agree within 0\.0001$/m);
    // made anew of the prompts that it has
    const again = newPath();
    succeeds("convert", out, again, "--selftest", "--encoder", tinyEncoder);
    assert.deepEqual(JSON.parse(readFileSync(join(again, "selftest.json"), "utf8")), selftest);
  });

  test("wants an encoder, and prompts", () => {
    isRefused(["convert", tiny, newPath(), "--selftest"], /--selftest needs --encoder/);
    isRefused(
      ["convert", tiny, newPath(), "--selftest", "--encoder", tinyEncoder],
      /has no selftest with prompts; give --selftest a file of prompts/,
    );
  });
});

describe("inspect", () => {
  test("shows costs, calibration and the message that is read", async () => {
    const path = await calibrated();
    const { outputs, message } = JSON.parse(succeeds("inspect", path, "--json"));
    assert.deepEqual(outputs, [
      { name: "weak", cost: 0.25, calibration: { slope: 1.25, intercept: -0.5 } },
      { name: "strong", cost: 10, calibration: null },
    ]);
    assert.equal(message, "latest");
    assert.match(succeeds("inspect", path), /the latest user message.*weak, cost 0\.25, calibrated\n/s);
  });

  test("refuses what is no checkpoint", () => {
    isRefused(["inspect", join(folder, "none")], /none: router\.json is missing; a checkpoint is a folder/);
    isRefused(["inspect", join(folder, "none.pt")], /none\.pt is missing/);
    isRefused(["inspect", encoder], /router\.json is missing/);
  });
});

describe("convert", () => {
  test("to format 2 and back gives the same tensors and the same router.json", () => {
    const [second, first] = [newPath(), newPath()];
    assert.match(succeeds("convert", tiny, second), /: router-json-2, hash [0-9a-f]{16}, 2 output\(s\)\n$/);
    assert.equal(readJson<{ format_version: number }>(join(second, "router.json")).format_version, 2);
    const printed = succeeds("convert", second, first, "--format", "router-json-1");
    assert.ok(printed.includes(JSON.parse(succeeds("inspect", first, "--json")).hash));
    assert.deepEqual(readJson(join(first, "router.json")), readJson(join(tiny, "router.json")));
    const tensors = (path: string) =>
      parseSafetensors(readFileSync(join(path, "router.safetensors"))).tensors;
    assert.deepEqual(new Map(tensors(first)), new Map(tensors(tiny)));
  });

  test("keeps the selftest, which still passes on the encoder", () => {
    const out = newPath();
    succeeds("convert", minilm, out);
    assert.match(succeeds("verify", out, "--encoder", encoder), /^6 rows agree within 0\.002\n/);
  });

  test("keeps the notice for whoever starts a server with it", async () => {
    const out = newPath();
    succeeds("convert", minilm, out);
    assert.equal((await loadCheckpoint(out)).notice, (await loadCheckpoint(minilm)).notice);
  });

  test("replaces an older checkpoint in its place as a whole, selftest included", () => {
    const out = newPath();
    succeeds("convert", minilm, out);
    succeeds("convert", tiny, out);
    assert.match(succeeds("inspect", out), /^selftest +none$/m, "the selftest of the older one stayed");
  });

  test("refuses a head that the format cannot hold, and writes nothing", async () => {
    const out = newPath();
    isRefused(
      ["convert", await calibrated(), out, "--format", "router-json-1"],
      /format router-json-1 cannot hold this head: .*; use router-json-2/,
    );
    assert.ok(!existsSync(out));
  });

  test("refuses a place that does not suit the format, an unknown format, and a source that is none", () => {
    isRefused(["convert", tiny, join(folder, "x.pt")], /x\.pt: router-json-2 is a folder; leave \.pt out/);
    isRefused(["convert", tiny, newPath(), "--format", "switchyard-0.3.0"], /is one file; name it NAME\.pt/);
    const { code, errors } = run("convert", tiny, newPath(), "--format", "router-json-3");
    assert.equal(code, 2);
    assert.match(errors, /router-json-3.*router-json-1, router-json-2, switchyard-0\.3\.0/s);
    isRefused(["convert", join(folder, "none"), newPath()], /router\.json is missing/);
    const file = newPath();
    writeFileSync(file, "mine");
    isRefused(["convert", tiny, file], /cannot be written \(E[A-Z]+\)/);
    assert.equal(readFileSync(file, "utf8"), "mine");
  });
});

describe("verify", () => {
  const rows = (change: (row: { probabilities: Record<string, number> }) => void, count = 3) => {
    // verify compares what the ensemble gives
    const changed = judgedRows("minilm-l6").map(({ prompt, raw }) => ({ prompt, probabilities: { ...raw } }));
    changed.splice(count);
    change(changed[count - 1]!);
    const file = join(mkdtempSync(join(folder, "rows-")), "rows.jsonl");
    writeFileSync(file, changed.map((row) => JSON.stringify(row)).join("\n"));
    return file;
  };
  const onRows = (file: string) => ["verify", minilm, "--encoder", encoder, "--prompts", file];

  test("tells how close the selftest, or a file of reference rows, comes out, by output", () => {
    for (const [file, count] of [
      [null, 6],
      [rows(() => {}, 12), 12],
    ] as const) {
      const args = file === null ? ["verify", minilm, "--encoder", encoder] : onRows(file);
      const [first, ...outputs] = succeeds(...args)
        .trim()
        .split("\n");
      assert.equal(first, `${count} rows agree within 0.002`);
      assert.equal(outputs.length, 2);
      for (const line of outputs) assert.match(line, /^\S+: largest difference \d\.\d\de[+-]\d+$/);
    }
  });

  test("refuses a probability beyond the tolerance, or one that is missing, by row and output", () => {
    const off = rows(({ probabilities }) => {
      probabilities["gpt-4-1106-preview"]! += 0.01;
    });
    isRefused(
      onRows(off),
      /row 3: output gpt-4-1106-preview differs by 0\.0\d+, wanted a difference of at most 0\.002/,
    );
    const less = rows(({ probabilities }) => delete probabilities["gpt-4-1106-preview"]);
    isRefused(onRows(less), /row 3: output gpt-4-1106-preview is missing in the row/);
  });

  test("refuses an encoder that does not fit, and a selftest that does not come out", () => {
    const other = packagePath("checkpoints/smollm2-135m/encoder");
    isRefused(
      ["verify", minilm, "--encoder", other],
      /trained with model\.onnx of .*, encoder \S+ has another;/,
    );
    isRefused(["verify", tiny, "--encoder", other], /wants hidden size 24, encoder \S+ has 576/);
    isRefused(["verify", minilm, "--encoder", folder], /no model\.onnx/);
    const copy = newPath();
    cpSync(minilm, copy, { recursive: true });
    const selftest = readFileSync(join(copy, "selftest.json"), "utf8");
    const off = selftest.replace(
      /("gpt-4-1106-preview": 0\.)(\d)/,
      (_, start, digit) => `${start}${9 - digit}`,
    );
    writeFileSync(join(copy, "selftest.json"), off);
    isRefused(["verify", copy, "--encoder", encoder], /selftest: prompt 1, output gpt-4-1106-preview/);
  });

  test("an encoder of another name is taken where it is said to be as good", () => {
    const config = join(folder, "renamed.toml");
    writeFileSync(config, `[encoders.renamed]\ntype = "onnx"\npath = "${encoder}"\nmodel = "another/name"\n`);
    const onRenamed = ["verify", minilm, "--config", config, "--encoder", "renamed"];
    isRefused(
      onRenamed,
      /encoder renamed is another\/name; name that encoder, or if they are the same model, set accept_encoder =/,
    );
    assert.match(succeeds(...onRenamed, "--accept-encoder", "another/name"), /rows agree within/);
  });

  test("refuses rows that are none, and a checkpoint without anything to compare with", () => {
    const tinyEncoder = fixturePath("tiny-encoder");
    isRefused(["verify", tiny, "--encoder", tinyEncoder], /has no selftest; give --prompts a file/);
    const file = join(folder, "bad.jsonl");
    writeFileSync(file, '{"prompt":"x"}\n');
    isRefused(
      onRows(file),
      /bad\.jsonl: row 1 \(line 1\), field probabilities: found nothing, wanted an object/,
    );
    isRefused(onRows(join(folder, "none.jsonl")), /none\.jsonl cannot be read \(ENOENT\)/);
    const { code, errors } = run("verify", minilm);
    assert.equal(code, 2);
    assert.match(errors, /--encoder/);
  });
});
