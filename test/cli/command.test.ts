// The command line as a user meets it: a real process, its output and its exit code.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { fixturePath, packagePath, readJson } from "../support/fixtures.js";
import { tinyConfig } from "../support/judge-server.js";
import { readVerdict } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "judge-cli-"));
after(() => rmSync(folder, { recursive: true }));

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [packagePath("dist/src/main.js"), ...args], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function run(
  args: readonly string[],
  { input = "", env = {} }: { input?: string | Buffer; env?: Record<string, string> } = {},
): Promise<Outcome> {
  const child = start(args, env);
  child.stdin!.end(input);
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, "close"),
  ]);
  return { code: code as number | null, output, errors };
}

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** A copy of a checkpoint, with one file changed. */
function damagedCheckpoint(name: string, file: string, change: (bytes: Buffer) => Buffer): string {
  const copy = mkdtempSync(join(folder, "checkpoint-"));
  cpSync(packagePath(`checkpoints/${name}`), copy, { recursive: true });
  const path = join(copy, file);
  writeFileSync(path, change(readFileSync(path)));
  return copy;
}

function fastJudge(checkpoint: string, encoder = packagePath("checkpoints/minilm-l6/encoder")): string {
  return `[encoders.fast]
type = "onnx"
path = "${encoder}"
[judges.fast]
checkpoint = "${checkpoint}"
encoder = "fast"
output = "gpt-4-1106-preview"
`;
}

function flipBit(bytes: Buffer, offset: number, bit: number): Buffer {
  bytes[offset]! ^= 1 << bit;
  return bytes;
}

function assertRefused({ code, output, errors }: Outcome, ...parts: readonly (string | RegExp)[]): void {
  assert.equal(code, 2, errors);
  assert.equal(output, "");
  const lines = errors
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("{"));
  assert.equal(lines.length, 1, errors);
  assert.ok(!errors.includes("    at "), errors);
  for (const part of parts)
    assert.match(lines[0]!, part instanceof RegExp ? part : new RegExp(part.replaceAll(".", "\\.")));
}

describe("score", () => {
  const config = write("tiny.toml", tinyConfig);

  test("prints the verdict of a prompt, from the argument or standard input", async () => {
    const given = await run(["score", "--config", config, "Solve: 1+1"]);
    assert.equal(given.code, 0, given.errors);
    const verdict = readVerdict(given.output.trim());
    const piped = await run(["score", "--config", config], { input: "Solve: 1+1" });
    assert.deepEqual(readVerdict(piped.output.trim()), verdict);
  });

  test("--file prints one JSON line per row, other fields kept, and no bar without a terminal", async () => {
    const file = write(
      "prompts.jsonl",
      '{"id":"a","prompt":"Hi"}\n\n{"prompt":"2+2","n":3}\r\n{"prompt":" "}\n',
    );
    const { code, output, errors } = await run(["score", "--config", config, "--file", file]);
    assert.equal(code, 0, errors);
    assert.equal(errors, "");
    const rows = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      rows.map((row) => [row.id, row.n, row.abstained, "prompt" in row]),
      [
        ["a", undefined, null, false],
        [undefined, 3, null, false],
        [undefined, undefined, "no_user_text", false],
      ],
    );
  });

  test("what is no UTF-8 is refused by line and byte: standard input, a file, the configuration", async () => {
    const latin1 = (text: string) => Buffer.from(text, "latin1");
    const piped = await run(["score", "--config", config], { input: latin1("La\ncl\xe9\n") });
    assertRefused(piped, /standard input line 2, byte 3 of the line: found 0xE9/);
    const file = write("latin1.jsonl", latin1('{"prompt":"cl\xe9"}\n'));
    assertRefused(
      await run(["score", "--config", config, "--file", file]),
      /latin1\.jsonl line 1, byte 14 of the line: found 0xE9/,
    );
    const settings = write("utf16.toml", Buffer.from(`\uFEFF${tinyConfig}`, "utf16le"));
    assertRefused(await run(["score", "--config", settings, "x"]), /utf16\.toml: found UTF-16/);
  });

  test("both embedded judges score every example prompt", async () => {
    const examples = readFileSync(packagePath("prompts/examples.jsonl"), "utf8").trim().split("\n");
    for (const judge of ["prefill-judge", "prefill-judge-fast"]) {
      const { code, output } = await run([
        "score",
        "--judge",
        judge,
        "--file",
        packagePath("prompts/examples.jsonl"),
      ]);
      assert.equal(code, 0);
      const rows = output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      assert.equal(rows.length, examples.length);
      assert.ok(rows.every((row) => row.p_solve > 0 && row.p_solve < 1 && row.abstained === null));
    }
  });

  test("a faulty row is named before anything is scored", async () => {
    const file = write("faulty.jsonl", '{"prompt":"Hi"}\n{"text":"x"}\n');
    assertRefused(
      await run(["score", "--config", config, "--file", file]),
      /row 2 \(line 2\), field prompt: found nothing, wanted a string/,
    );
    assertRefused(await run(["score", "--file", join(folder, "none.jsonl")]), "none.jsonl", /ENOENT/);
    assertRefused(
      await run(["score", "--judge", "nobody", "x"]),
      /nobody.*prefill-judge, prefill-judge-fast/,
    );
  });
});

describe("other commands", () => {
  test("--version, --help and routes answer on standard output", async () => {
    const { version } = readJson<{ version: string }>(packagePath("package.json"));
    assert.deepEqual(await run(["--version"]), { code: 0, output: `${version}\n`, errors: "" });
    assert.match((await run(["serve", "--help"])).output, /--port <value>[^-]*PREFILL_JUDGE_PORT/);
    for (const command of ["train", "evaluate", "score", "verify", "doctor", "inspect"])
      assert.doesNotMatch((await run([command, "--help"])).output, /--(host|port|log-level)/, command);
    const routes = await run(["routes", "--port", "9999"], { env: { PREFILL_JUDGE_DEADLINE_MS: "500" } });
    assert.match(routes.output, /base_url = "http:\/\/127\.0\.0\.1:9999\/v1"\ntimeout_ms = 3500/);
  });

  test("an unknown command or flag is named with the nearest one, exit code 2", async () => {
    for (const [args, hint] of [
      [["srve"], "serve"],
      [["serve", "--prot", "1"], "--port"],
    ] as const) {
      const { code, errors } = await run(args);
      assert.equal(code, 2);
      assert.match(errors, new RegExp(`Did you mean ${hint}`));
    }
  });

  test("serve says what to paste once ready, and ends with exit code 0 on SIGTERM", async () => {
    const child = start(["serve", "--port", "0", "--config", write("serve.toml", tinyConfig)]);
    let output = "";
    child.stdout!.setEncoding("utf8");
    for await (const chunk of child.stdout!) {
      output += chunk;
      if (output.includes("classifier_target")) break;
    }
    const url = /ready on (\S+)/.exec(output)![1]!;
    assert.match(output, /curl -s .*chat\/completions/);
    assert.ok(output.includes(`base_url = "${url}/v1"`));
    assert.equal((await fetch(`${url}/ready`)).status, 200);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  });
});

describe("serve refuses to start, with one line and exit code 2", () => {
  const serve = (toml: string) =>
    run(["serve", "--port", "0", "--config", write(`c${Math.random()}.toml`, toml)]);
  const encoderOf = (checkpoint: string) => fastJudge(checkpoint, join(checkpoint, "encoder"));

  test("the lowest bit of one weight of the head is flipped", async () => {
    const copy = damagedCheckpoint("minilm-l6", "router.safetensors", (bytes) =>
      flipBit(bytes, bytes.length - 400, 0),
    );
    assertRefused(await serve(fastJudge(copy)), copy, "router.safetensors", /SHA-256/, /restore/);
  });

  test("one weight is flipped, and neither selftest nor router.json tells by a hash", async () => {
    // the bias before the last weights [2, 128]: it counts whatever the text, as a weight of an idle unit
    // does not
    const copy = damagedCheckpoint("minilm-l6", "router.safetensors", (bytes) =>
      flipBit(bytes, bytes.length - 4 * 2 * 128 - 1, 6),
    );
    const change = (name: string, fields: object) => {
      const content = readJson<object>(join(copy, name));
      writeFileSync(join(copy, name), JSON.stringify({ ...content, ...fields }));
    };
    const tensors = readFileSync(join(copy, "router.safetensors"));
    change("router.json", { tensor_sha256: createHash("sha256").update(tensors).digest("hex") });
    change("selftest.json", { files: {} });
    assertRefused(await serve(fastJudge(copy)), copy, /probability differs by/, /damaged/);
  });

  test("one weight of the encoder is flipped", async () => {
    const copy = damagedCheckpoint("minilm-l6", "encoder/model.onnx", (bytes) =>
      flipBit(bytes, bytes.length >> 1, 3),
    );
    assertRefused(await serve(encoderOf(copy)), copy, /trained with model\.onnx of SHA-256/, /another/);
  });

  test("the model file is cut short", async () => {
    const copy = damagedCheckpoint("minilm-l6", "encoder/model.onnx", (bytes) => bytes.subarray(0, 1000));
    assertRefused(
      await serve(encoderOf(copy)),
      "model.onnx",
      /model\.onnx is no whole ONNX model: damaged, or cut off; restore it/,
    );
  });

  test("the tokenizer is not JSON, or missing a piece", async () => {
    const cut = damagedCheckpoint("minilm-l6", "encoder/tokenizer.json", (bytes) => bytes.subarray(0, 1000));
    assertRefused(await serve(encoderOf(cut)), "tokenizer.json", /is not JSON/);
    const empty = damagedCheckpoint("minilm-l6", "encoder/tokenizer.json", () => Buffer.from("{}"));
    assertRefused(await serve(encoderOf(empty)), "tokenizer.json", /model/);
  });

  test("tensors are cut short, metadata is of another version, or the folder is empty", async () => {
    const cut = damagedCheckpoint("minilm-l6", "router.safetensors", (bytes) => bytes.subarray(0, 5000));
    assertRefused(await serve(fastJudge(cut)), cut, /router\.safetensors|safetensors/);
    const version = damagedCheckpoint("minilm-l6", "router.json", (bytes) =>
      Buffer.from(bytes.toString().replace('"format_version": 2', '"format_version": 7')),
    );
    assertRefused(await serve(fastJudge(version)), version, /format_version/);
    assertRefused(await serve(fastJudge(folder)), folder, /router\.json is missing/);
  });

  test("checkpoint and encoder do not fit", async () => {
    const toml = fastJudge(
      packagePath("checkpoints/minilm-l6"),
      packagePath("checkpoints/smollm2-135m/encoder"),
    );
    assertRefused(await serve(toml), /trained with model\.onnx of SHA-256 \w+…, encoder fast has another;/);
    const narrow = fastJudge(fixturePath("checkpoints/router-json-v1")).replace("gpt-4-1106-preview", "weak");
    assertRefused(await serve(narrow), /wants hidden size 24, encoder fast has 384/);
    const tooLong = `${fastJudge(packagePath("checkpoints/minilm-l6"))}max_tokens = 4096\n`;
    assertRefused(await serve(tooLong), /judges\.fast\.max_tokens is 4096/, /512/);
    const output = fastJudge(packagePath("checkpoints/minilm-l6")).replace("gpt-4-1106-preview", "gpt-5");
    assertRefused(await serve(output), /gpt-5/, /Mixtral/);
  });

  test("the configuration is wrong", async () => {
    assertRefused(await serve("[server\nport = 1"), /line 1/);
    assertRefused(
      await serve("[server]\nprot = 1"),
      /unknown key server\.prot; the nearest known one is port/,
    );
    assertRefused(await run(["serve", "--config", join(folder, "none.toml")]), /none\.toml is missing/);
    assertRefused(await run(["serve", "--port", "high"]), /port/);
  });

  test("the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const config = write("taken.toml", tinyConfig);
    assertRefused(await run(["serve", "--config", config, "--port", String(port)]), /EADDRINUSE/, /--port/);
    other.close();
  });

  test("an encoder folder that does not exist", async () => {
    const toml = tinyConfig.replace(fixturePath("tiny-encoder"), join(folder, "nowhere"));
    assertRefused(await serve(toml), /encoder tiny: the encoder folder cannot be read/);
  });
});
