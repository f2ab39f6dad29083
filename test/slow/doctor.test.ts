// `doctor` as a user meets it: a real process against a vLLM server that runs the tiny encoder, set up right
// and in each of the ways it is set up wrong.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { fixturePath, packagePath } from "../support/fixtures.js";
import { tinyConfig } from "../support/judge-server.js";
import { writeLayeredCheckpoint } from "../support/layered-checkpoint.js";
import { type VllmFolders, vllmFolders } from "../support/vllm/encoder.js";
import { fileOf, hiddenSize } from "../support/vllm/files.js";
import { startVllmServer, type VllmServer } from "../support/vllm/server.js";

const folder = mkdtempSync(join(tmpdir(), "doctor-"));
after(() => rmSync(folder, { recursive: true }));
/** reads hidden states 3 to 6 */
const checkpoint = await writeLayeredCheckpoint(folder, [3, 4, 5, 6]);
const neighbourhood = [2, 3, 4, 5, 6, 7];

interface Outcome {
  readonly code: number | null;
  /** runs of blanks are one blank: lines are broken for the terminal */
  readonly output: string;
  readonly lines: readonly string[];
  readonly errors: string;
}

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [packagePath("dist/src/main.js"), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return {
    code: code as number | null,
    output: output.replace(/\s+/g, " "),
    lines: output.split("\n"),
    errors,
  };
}

/** The set-up of one test: what the server does, and what the configuration says. */
interface Setup {
  /** what the server captures */
  readonly layers?: readonly number[];
  readonly captured?: readonly number[];
  /**
   * what a second server captures, which stands after the first in the configuration; absent: there is none
   */
  readonly second?: readonly number[];
  readonly fault?: VllmServer["fault"];
  readonly dtype?: VllmServer["dtype"];
  readonly apiKey?: string;
  /** further lines of the encoder's table, instead of those of the same key */
  readonly settings?: Readonly<Record<string, string>>;
  readonly prepare?: (folders: VllmFolders) => void;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly command?: readonly string[];
  /** absent: the one that reads 3 to 6 */
  readonly checkpoint?: string;
}

let count = 0;

async function onServer(setup: Setup): Promise<Outcome> {
  const folders = vllmFolders();
  const { layers = neighbourhood, captured = layers, apiKey } = setup;
  const server = await startVllmServer({ ...folders, layers, ...(apiKey !== undefined && { apiKey }) });
  const second = setup.second && (await startVllmServer({ ...folders, layers: setup.second }));
  server.fault = setup.fault ?? "none";
  server.dtype = setup.dtype ?? "F32";
  const settings: Record<string, string> = {
    type: '"vllm"',
    path: `"${fixturePath("tiny-encoder")}"`,
    served_model: '"tiny"',
    base_url: second === undefined ? `"${server.url}"` : `["${server.url}", "${second.url}"]`,
    captured_layers: `[${captured}]`,
    hidden_states_root: `"${folders.root}"`,
    file_timeout_ms: "150",
    request_timeout_ms: "1000",
    ...setup.settings,
  };
  const table = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
  const config = join(folder, `c${count++}.toml`);
  writeFileSync(
    config,
    `[encoders.far]\n${table.join("\n")}\n[judges.far]\ncheckpoint = "${setup.checkpoint ?? checkpoint}"\nencoder = "far"\noutput = "weak"\n`,
  );
  setup.prepare?.(folders);
  try {
    return await run(
      [...(setup.command ?? ["doctor"]), "--config", config, ...(setup.args ?? [])],
      setup.env,
    );
  } finally {
    await server.close();
    await second?.close();
    folders.remove();
  }
}

/** The status of each check of one subject, by check. */
function statuses({ output }: Outcome): Record<string, string> {
  const report = JSON.parse(output) as { checks: { check: string; status: string }[] };
  return Object.fromEntries(report.checks.map(({ check, status }) => [check, status]));
}

describe("a judge on a vLLM server", () => {
  test("that is set up right: every line is ok, and it fits a terminal of 80 columns", async () => {
    const outcome = await onServer({});
    const { code, output, lines, errors } = outcome;
    assert.equal(code, 0, output);
    assert.equal(errors, "");
    assert.match(output, /ok server 127\.0\.0\.1:\d+ serves tiny, context 512 tokens/);
    assert.match(output, /ok hidden-states 127\.0\.0\.1:\d+: 6 layers of 24 values, F32, \d+ ms/);
    assert.match(
      output,
      /ok folder-rights mode 0700 ok folder-memory (on a disk → a folder in \/dev\/shm|in memory)/,
    );
    assert.match(output, /ok stale-files none/);
    assert.match(
      output,
      /ok layers reads hidden states 3–6; captured_layers = \[2, 3, 4, 5, 6, 7\], layer_offset = 0: as the selftest wants them; read otherwise they differ by/,
    );
    assert.match(output, /ok selftest 5 prompts agree within 0\.0001/);
    assert.match(
      output,
      /ok sample \d+ tokens, warm, in ms: tokenize \d+\.\d, prefill \d+\.\d, head \d+\.\d, total/,
    );
    for (const line of lines) {
      assert.ok(line.length <= 80 || /\S{40}/.test(line), line);
      assert.match(line, /^(ok|warning|encoder|judge| {24}|$|Nothing wrong|All is well)/);
    }
  });

  test("that nobody started: host and cause, and the folder is looked at all the same", async () => {
    const { code, output } = await onServer({
      settings: { base_url: '"http://127.0.0.1:1/v1"' },
      prepare: ({ root }) => chmodSync(root, 0o755),
    });
    assert.equal(code, 1);
    assert.match(
      output,
      /wrong server 127\.0\.0\.1:1: cannot be asked: connection refused \(ECONNREFUSED\) → start the server/,
    );
    assert.match(output, /warning folder-rights every user .* \(mode 0755\) → chmod it to 0700/);
    assert.match(output, /ok checkpoint .* skipped layers encoder far does not run skipped selftest/);
    assert.match(output, /1 thing wrong, \d warnings/);
  });

  test("of two servers, each by itself; one that answers is enough for the judge", async () => {
    const both = await onServer({ second: neighbourhood });
    assert.equal(both.code, 0, both.output);
    assert.equal(both.output.match(/ok hidden-states/g)?.length, 2);
    const one = await onServer({ second: neighbourhood, fault: "500" });
    assert.equal(one.code, 1);
    assert.match(
      one.output,
      /wrong hidden-states \S+ answered 500 .* ok hidden-states .* ok selftest .* 1 thing wrong\D/,
    );
    const unlike = await onServer({ second: [3, 4, 5, 6, 7, 8] });
    assert.equal(unlike.code, 1);
    assert.match(
      unlike.output,
      /wrong hidden-states (\S+) gives other hidden states than (?!\1)127\.0\.0\.1:\d+ → serve/,
    );
  });

  test("that answers 401, 404, 500 or nothing", async () => {
    for (const [setup, wanted] of [
      [{ apiKey: "k" }, /wrong server \S+: refused the API key \(401\) → set api_key_env/],
      [
        { apiKey: "k", settings: { api_key_env: '"DOCTOR_KEY"' }, env: { DOCTOR_KEY: "wrong-key" } },
        /wrong server \S+: refused the API key \(401\)/,
      ],
      [
        { settings: { served_model: '"org/other"' } },
        /wrong server \S+ serves tiny, not org\/other → set served_model/,
      ],
      [{ fault: "500" }, /ok server .* wrong hidden-states \S+: answered 500 → see its own log/],
      [{ fault: "hung" }, /ok server .* wrong hidden-states \S+: gave no reply within 1000 ms/],
    ] as const) {
      const { code, output } = await onServer(setup);
      assert.equal(code, 1, output);
      assert.match(output, wanted);
      assert.ok(!output.includes("wrong-key"));
    }
  });

  test("with the key that it wants", async () => {
    const key = { apiKey: "k", settings: { api_key_env: '"DOCTOR_KEY"' }, env: { DOCTOR_KEY: "k" } };
    assert.equal((await onServer(key)).code, 0);
  });

  test("with a base_url without /v1", async () => {
    const server = await startVllmServer({ root: folder, outside: folder, layers: [0] });
    try {
      const url = `"${server.url.replace(/\/v1$/, "")}"`;
      const { output } = await onServer({ settings: { base_url: url } });
      assert.match(output, /wrong server \S+: has no such path under base_url \(404\) → end base_url with/);
    } finally {
      await server.close();
    }
  });
});

describe("the folder that both see", () => {
  test("is not there", async () => {
    const { code, output } = await onServer({ settings: { hidden_states_root: `"${folder}/none"` } });
    assert.equal(code, 1);
    assert.match(output, /wrong folder hidden_states_root cannot be read \(ENOENT\) → set it/);
    assert.match(output, /ok server .* skipped hidden-states/);
  });

  test("can be read by others: a warning alone does not fail", async () => {
    const { code, output } = await onServer({ prepare: ({ root }) => chmodSync(root, 0o755) });
    assert.equal(code, 0);
    assert.match(output, /warning folder-rights .* \(mode 0755\)/);
    assert.match(output, /Nothing wrong, \d warnings?\./);
  });

  test("is another one than the server's: its file lies elsewhere, or never comes", async () => {
    const elsewhere = await onServer({ fault: "outside the root" });
    assert.equal(elsewhere.code, 1);
    assert.match(
      elsewhere.output,
      /named a file outside hidden_states_root \(it named \S+outside\/\S+\) → set it/,
    );
    const unshared = await onServer({ fault: "never" });
    assert.equal(unshared.code, 1);
    assert.match(
      unshared.output,
      /is not there after 150 ms .* → the server writes elsewhere: mount the same folder/,
    );
  });

  test("holds files that nobody came for", async () => {
    const { code, output } = await onServer({
      prepare: ({ root }) => {
        const bytes = fileOf(new Float32Array(hiddenSize).fill(1), [1], { fault: "none", dtype: "F32" });
        for (const name of ["cmpl-old.safetensors", "cmpl-new.safetensors", "model.safetensors"])
          writeFileSync(join(root, name), bytes);
        writeFileSync(join(root, "cmpl-old.safetensors.lock"), "");
        writeFileSync(join(root, "chatcmpl-old.safetensors.lock"), "");
        for (const name of readdirSync(root).filter((name) => !name.includes("new")))
          utimesSync(join(root, name), 1, 1);
      },
    });
    assert.equal(code, 0);
    assert.match(output, /warning stale-files 2 that nobody came for/);
  });

  test("lies in memory", { skip: process.platform !== "linux" }, async () => {
    const root = mkdtempSync("/dev/shm/doctor-");
    try {
      const { output } = await onServer({ fault: "never", settings: { hidden_states_root: `"${root}"` } });
      assert.match(output, /ok folder-memory in memory/);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("captured layers", () => {
  test("off by one are found, by doctor and by serve", async () => {
    const setup: Setup = { layers: [2, 3, 4, 5, 6, 7], captured: [1, 2, 3, 4, 5, 6] };
    const fits = /the rows fit when captured_layers = \[1, 2, 3, 4, 5, 6\], layer_offset = 1: set that/;
    const doctor = await onServer(setup);
    assert.equal(doctor.code, 1);
    assert.match(doctor.output, fits);
    assert.match(
      doctor.output,
      /wrong layers reads .* wrong selftest prompt \d, output .* differs by .* → see layers/,
    );
    assert.match(doctor.output, /ok sample/);
    const serve = await onServer({ ...setup, command: ["serve", "--port", "0"] });
    assert.equal(serve.code, 2);
    assert.match(serve.errors, /selftest: prompt \d, output .* differs by .*; .* run prefill-judge doctor/);
    const mended = await onServer({ ...setup, settings: { layer_offset: "1" } });
    assert.equal(mended.code, 0, mended.output);
  });

  test("so far off that a layer is missing are found too", async () => {
    const setup: Setup = { layers: [3, 4, 5, 6], captured: [1, 2, 3, 4] };
    const misfit = "wants hidden states 5, 6, encoder far gives 1, 2, 3, 4";
    const { output } = await onServer(setup);
    assert.match(
      output,
      new RegExp(`${misfit}.*the rows fit when captured_layers = \\[1, 2, 3, 4\\], layer_offset = 2`),
    );
    assert.match(output, /skipped selftest .* skipped sample .* 1 thing wrong\D/);
    assert.match(
      (await onServer({ ...setup, command: ["serve", "--port", "0"] })).errors,
      new RegExp(`${misfit}.* run prefill-judge doctor`),
    );
  });

  test("that are the last block's are refused for what they are", async () => {
    const last = await writeLayeredCheckpoint(mkdtempSync(join(folder, "last-")), [5, 6, 7, 8]);
    const { output } = await onServer({ layers: [5, 6, 7, 8], checkpoint: last });
    assert.match(
      output,
      /wants hidden states 8, encoder far gives 5, 6, 7 → the last block's output .* lower layer/,
    );
  });

  test("in reverse are found", async () => {
    const { code, output } = await onServer({ layers: [6, 5, 4, 3], captured: [3, 4, 5, 6] });
    assert.equal(code, 1);
    assert.match(output, /the rows fit when captured_layers = \[6, 5, 4, 3\], layer_offset = 0/);
  });

  test("in another order than rising are warned of, unless the selftest agrees", async () => {
    const order =
      /layer_offset = 0; captured_layers is not in rising order, in which vLLM captures .* → put it and .* in rising order/;
    const falling = [6, 5, 4, 3];
    const untold = await onServer({
      layers: [3, 2, 1, 0],
      checkpoint: fixturePath("checkpoints/router-json-v1"),
    });
    assert.equal(untold.code, 0, untold.output);
    assert.match(untold.output, new RegExp(`warning layers .*${order.source}.* warning selftest none`));
    const lax = await writeLayeredCheckpoint(mkdtempSync(join(folder, "lax-")), [7, 6, 5, 4], 0.05);
    const alike = await onServer({ layers: [7, 6, 5, 4], checkpoint: lax });
    assert.equal(alike.code, 0, alike.output);
    assert.match(
      alike.output,
      new RegExp(
        `warning layers .*${order.source.replace(";", "; the selftest does not tell the rows apart;")}`,
      ),
    );
    const agreed = await onServer({ layers: falling });
    assert.equal(agreed.code, 0, agreed.output);
    assert.match(agreed.output, /ok layers .* = \[6, 5, 4, 3\], layer_offset = 0: as the selftest wants/);
    assert.doesNotMatch(agreed.output, /rising/);
    const swapped = await onServer({ layers: [3, 4, 5, 6], captured: falling });
    assert.equal(swapped.code, 1);
    assert.match(swapped.output, /wrong layers .* the rows fit when captured_layers = \[3, 4, 5, 6\]/);
  });

  test("without neighbours are to be captured with them", async () => {
    const { output } = await onServer({ layers: [2, 3, 4, 5], captured: [3, 4, 5, 6] });
    assert.match(
      output,
      /no reading of the captured rows fits: .* captured_layers = \[2, 3, 4, 5, 6, 7\], and run/,
    );
  });

  test("of another precision are told from those that are named wrong", async () => {
    const { code, output } = await onServer({ dtype: "BF16" });
    assert.equal(code, 1);
    assert.match(output, /ok layers .* wrong selftest .* → the rows are named right .* another precision\?/);
    assert.match(
      output,
      /where p_solve is nearer than \S+ to the router's threshold, its choice may be another/,
    );
  });

  test("fewer than configured are counted", async () => {
    const { output } = await onServer({ layers: [3, 4, 5], captured: [3, 4, 5, 6] });
    assert.match(
      output,
      /wrong hidden-states \S+: its hidden states are of 3 layers, captured_layers names 4/,
    );
  });
});

test("--json has a stable shape, with figures for scripts", async () => {
  const outcome = await onServer({
    layers: [2, 3, 4, 5, 6, 7],
    captured: [1, 2, 3, 4, 5, 6],
    args: ["--json"],
  });
  assert.equal(outcome.code, 1);
  const report = JSON.parse(outcome.output);
  assert.deepEqual(Object.keys(report), ["version", "ok", "wrong", "warnings", "checks"]);
  assert.deepEqual([report.ok, report.wrong], [false, 2]);
  for (const check of report.checks)
    assert.deepEqual(Object.keys(check), ["subject", "id", "check", "status", "found", "advice", "values"]);
  const { version, threads, ...checks } = statuses(outcome);
  assert.ok(version === "ok" && threads !== undefined);
  assert.deepEqual(checks, {
    node: "ok",
    tokenizer: "ok",
    folder: "ok",
    "folder-rights": "ok",
    "folder-memory": "ok",
    "stale-files": "ok",
    server: "ok",
    "hidden-states": "ok",
    "server-tokens": "ok",
    model: "ok",
    checkpoint: "ok",
    files: "warning",
    view: "ok",
    layers: "wrong",
    selftest: "wrong",
    sample: "ok",
  });
  const layers = report.checks.find(({ check }: { check: string }) => check === "layers");
  assert.equal(layers.values.labelling, "fits");
  assert.deepEqual(layers.values.readings, [{ captured_layers: [1, 2, 3, 4, 5, 6], layer_offset: 1 }]);
});

describe("judges on encoders of this machine", () => {
  test("the embedded ones are well", async () => {
    const { code, output } = await run(["doctor"]);
    assert.equal(code, 0, output);
    assert.match(
      output,
      /ok model onnxruntime-node \d+\.\d+\.\d+ on cpu, \d+ threads; hidden states 0–8 of 576 values/,
    );
    assert.equal(output.match(/ok files 6 with the SHA-256/g)?.length, 2);
    assert.equal(output.match(/ok selftest 6 prompts agree/g)?.length, 2);
    const one = await run(["doctor", "--judge", "prefill-judge-fast"]);
    assert.equal(one.code, 0);
    assert.doesNotMatch(one.output, /smollm2/);
  });

  test("a broken checkpoint does not keep doctor from the other judge", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const config = join(folder, "two.toml");
    writeFileSync(config, `${tinyConfig}[judges.broken]\ncheckpoint = "${empty}"\nencoder = "tiny"\n`);
    const { code, output } = await run(["doctor", "--config", config]);
    assert.equal(code, 1);
    assert.match(
      output,
      /judge broken wrong checkpoint router\.json is missing → a checkpoint is a folder .* skipped view the checkpoint cannot be read skipped layers .* skipped selftest .* skipped sample/,
    );
    assert.match(output, /judge tiny ok checkpoint .* warning selftest none: .* ok sample/);
  });

  test("an encoder that is not there, an output that is none", async () => {
    const config = join(folder, "none.toml");
    writeFileSync(
      config,
      `[encoders.gone]\ntype = "onnx"\npath = "none"\n[judges.gone]\ncheckpoint = "${checkpoint}"\nencoder = "gone"\noutput = "weak"\n${tinyConfig.replace('output = "weak"', 'output = "other"')}`,
    );
    const { code, output } = await run(["doctor", "--config", config]);
    assert.equal(code, 1);
    assert.match(
      output,
      /encoder gone wrong model the encoder folder cannot be read: \S+none \(ENOENT\) → set the encoder's path/,
    );
    assert.match(
      output,
      /judge tiny .* wrong view judges\.tiny\.output "other" is not an output .* → wanted one of .* skipped layers the judge does not start skipped selftest/,
    );
  });

  test("an encoder of another model: the advice is about it, not about its files", async () => {
    const config = join(folder, "other-model.toml");
    const own = packagePath("checkpoints/minilm-l6");
    writeFileSync(
      config,
      `[encoders.tiny]\ntype = "onnx"\npath = "${fixturePath("tiny-encoder")}"\nmodel = "org/tiny"\n[judges.own]\ncheckpoint = "${own}"\nencoder = "tiny"\noutput = "gpt-4-1106-preview"\n`,
    );
    const { code, output } = await run(["doctor", "--config", config]);
    assert.equal(code, 1);
    assert.match(
      output,
      /skipped files the encoder is org\/tiny, not \S+MiniLM-L6-v2 wrong view .* → name that encoder, or if they/,
    );
    assert.doesNotMatch(output, /SHA-256/);
  });

  test("more threads than processors are a warning", async () => {
    const { code, output } = await run(["doctor", "--judge", "prefill-judge-fast", "--threads", "64"]);
    assert.equal(code, 0);
    assert.match(output, /warning threads 64 threads on \d+ processors → set runtime\.threads = \d+/);
  });
});

test("a configuration that cannot be read, and an unknown judge, end as for every command", async () => {
  for (const args of [
    ["doctor", "--config", join(folder, "no.toml")],
    ["doctor", "--judge", "nobody"],
  ]) {
    const { code, output, errors } = await run(args);
    assert.deepEqual([code, output.trim()], [2, ""]);
    assert.match(errors, /^prefill-judge: .*\n$/);
  }
});
