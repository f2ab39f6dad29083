// The API document against the server that hands it out: Schemathesis makes thousands of requests of it, good
// and bad, and holds every answer against it. Settings: schemathesis.toml.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { packagePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";

interface Report {
  readonly operations: { readonly selected: number; readonly tested: number };
  readonly test_cases: { readonly generated: number; readonly errored: number };
}

const flags = { "--deadline-ms": "60000", "--log-level": "error" };
const onlyFuzzing = ["--phases", "fuzzing"];

describe("Schemathesis 4.32.5", () => {
  const folder = mkdtempSync(join(tmpdir(), "judge-schemathesis-"));
  const keysFile = join(folder, "keys");
  let server: JudgeServer;

  before(() => writeFileSync(keysFile, "sk-right\n"));
  after(() => rmSync(folder, { recursive: true }));

  /** Fails with what Schemathesis prints when it finds anything; else what it reports. */
  async function fuzz(examples: number, options: readonly string[]): Promise<Report> {
    const file = join(folder, "report.json");
    const config = ["--config-file", packagePath("test/e2e/schemathesis.toml")];
    const run = ["run", `${server.url}/openapi.json`, "--no-color", "--report-json-path", file];
    const child = spawn(
      packagePath(".venv/bin/schemathesis"),
      [...config, ...run, "--max-examples", String(examples), ...options],
      { cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
    );
    const exited = once(child, "exit") as Promise<[number]>;
    const output = await text(child.stdout);
    // a request that fails may be as large as the limit of bodies
    assert.equal((await exited)[0], 0, output.replace(/^(.{400}).*$/gm, "$1 …"));
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    assert.equal(report.operations.tested, report.operations.selected);
    assert.equal(report.test_cases.errored, 0);
    return report;
  }

  /** Answers that the server counted, by status. */
  async function answersByStatus(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    for (const [, status, count] of metrics.matchAll(/^\w*requests_total\{.*status="(\d+)".*\} (\d+)$/gm)) {
      counts[status!] = (counts[status!] ?? 0) + Number(count);
    }
    return counts;
  }

  test("thousands of good and bad requests: every answer is as the document says", async (context) => {
    server = await startJudgeServer(tinyConfig, flags);
    try {
      const { test_cases: cases } = await fuzz(500, []);
      const answers = await answersByStatus();
      context.diagnostic(`${cases.generated} test cases; answers by status: ${JSON.stringify(answers)}`);
      assert.ok(cases.generated >= 3000);
      assert.ok(answers[200]! >= 500 && answers[400]! >= 200 && answers[404]! >= 50 && answers[405]! >= 20);
      assert.equal(answers[500], undefined);
      const { verdict } = await readCompletion(await server.post("/v1/chat/completions", chat("Hi")));
      assert.equal(verdict.primary_rule, "SUP-4", "the judge still judges");
    } finally {
      await server.close();
    }
  });

  test("with keys: what the document guards is refused without the right one", async (context) => {
    server = await startJudgeServer(`[server]\napi_keys_file = "${keysFile}"\n${tinyConfig}`, flags);
    try {
      const { test_cases: cases } = await fuzz(30, [...onlyFuzzing, "-H", "Authorization: Bearer sk-right"]);
      const answers = await answersByStatus();
      context.diagnostic(`${cases.generated} test cases; answers by status: ${JSON.stringify(answers)}`);
      assert.ok(answers[200]! >= 30 && answers[401]! >= 8);
    } finally {
      await server.close();
    }
  });

  for (const onFailure of ["abstain", "error"] as const) {
    test(`encoder not started, on_failure = ${onFailure}: every answer is as the document says`, async (context) => {
      server = await startJudgeServer(tinyConfig, { ...flags, "--on-failure": onFailure }, false);
      try {
        // 503 is what the document promises here
        const exclude = ["--exclude-checks", "not_a_server_error,positive_data_acceptance"];
        const { test_cases: cases } = await fuzz(50, [...onlyFuzzing, ...exclude]);
        const answers = await answersByStatus();
        context.diagnostic(`${cases.generated} test cases; answers by status: ${JSON.stringify(answers)}`);
        assert.ok(answers[503]! >= 1);
        assert.equal(answers[500], undefined);
      } finally {
        await server.close();
      }
    });
  }
});
