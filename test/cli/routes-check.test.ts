// `routes check` as a user meets it: a real process, its lines and its exit code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { tinyConfig } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-routes-"));
after(() => rmSync(folder, { recursive: true }));

function run(args: readonly string[], env: Record<string, string> = {}) {
  const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { code: status, output: stdout, errors: stderr };
}

function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const config = write("judge.toml", tinyConfig);
const printed = run(["routes", "--config", config]).output;
const lineOf = (text: string, start: string) =>
  text.split("\n").findIndex((line) => line.startsWith(start)) + 1;

test("what `routes` prints passes `routes check` with the same settings", () => {
  for (const [settings, env] of [
    [[], {}],
    [["--config", config], {}],
    [["--port", "9999", "--host", "0.0.0.0"], {}],
    [[], { PREFILL_JUDGE_PORT: "9123", PREFILL_JUDGE_DEADLINE_MS: "1500" }],
  ] as const) {
    const routes = run(["routes", ...settings], env);
    assert.deepEqual([routes.code, routes.errors], [0, ""]);
    const file = write("printed.toml", routes.output);
    const wanted = { code: 0, output: `${file}: nothing to change\n`, errors: "" };
    assert.deepEqual(run(["routes", "check", ...settings, file], env), wanted);
  }
});

test("settings may stand before or after the word check", () => {
  const file = write("routes.toml", run(["routes", "--port", "9999"]).output);
  for (const args of [
    ["routes", "check", "--port", "9999", file],
    ["routes", "check", file, "--port", "9999"],
    ["routes", "--port", "9999", "check", file],
  ])
    assert.deepEqual(
      run(args),
      { code: 0, output: `${file}: nothing to change\n`, errors: "" },
      args.join(" "),
    );
});

test("errors are printed by file and line, counted on standard error, and end in exit code 2", () => {
  const text = printed.replace('mode = "capability"', 'mode = "escalation"').replace(/timeout_ms.*\n/, "");
  const file = write("wrong.toml", text.replace(":8080", ":8081"));
  const { code, output, errors } = run(["routes", "check", "--config", config, file]);
  assert.equal(code, 2);
  const lines = output.trim().split("\n");
  assert.deepEqual(
    lines.map((line) => line.slice(0, line.indexOf(": ", file.length + 5))),
    [
      `${file}:${lineOf(text, "[llm_clients.judge]")}: warning`,
      `${file}:${lineOf(text, "base_url")}: error`,
      `${file}:${lineOf(text, "mode")}: error`,
    ],
  );
  assert.match(output, /8080/);
  assert.equal(errors, `prefill-judge: ${file}: 2 error(s); change the lines above\n`);
});

test("warnings alone end in exit code 0", () => {
  const file = write("warned.toml", printed.replace(/timeout_ms.*\n/, ""));
  const { code, output, errors } = run(["routes", "check", "--config", config, file]);
  assert.deepEqual([code, errors], [0, ""]);
  assert.match(output, /^\S+:3: warning: without timeout_ms [^\n]+\n$/);
});

test("a file that is missing, no TOML, or none of Switchyard's is refused in one line", () => {
  for (const [file, finding] of [
    [join(folder, "none.toml"), /none\.toml is missing/],
    [folder, /is a folder, wanted a regular file/],
    [write("torn.toml", "[routes"), /torn\.toml line 1, column \d+: not TOML/],
    [write("odd.toml", "routes = 3"), /odd\.toml: routes: /],
  ] as const) {
    const { code, output, errors } = run(["routes", "check", file]);
    assert.deepEqual([code, output], [2, ""]);
    assert.match(errors, /^prefill-judge: [^\n]+\n$/);
    assert.match(errors, finding);
  }
  assert.equal(run(["routes", "check"]).code, 2);
});

test("a configuration that is wrong is refused before the file is read", () => {
  const { code, errors } = run(["routes", "check", "--config", write("bad.toml", "[["), config]);
  assert.equal(code, 2);
  assert.match(errors, /bad\.toml line 1, column \d+: not TOML/);
});
