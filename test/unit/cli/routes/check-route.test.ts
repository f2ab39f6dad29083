// Findings about the routes of a Switchyard file, and what holds for all findings. Facts about Switchyard
// 0.3.0 are checked with the real one in test/e2e/routes-check.test.ts.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type PrimaryRule, thresholdSteps } from "../../../../src/answer/capability.js";
import { checkRoutes } from "../../../../src/cli/routes/check.js";
import { routesToml } from "../../../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../../../src/config/base-url.js";
import { parseConfig } from "../../../support/judge-server.js";
import { refusal } from "../../../support/refusal.js";

const configOf = (rule: PrimaryRule) =>
  parseConfig(`[judges.prefill-judge]\nprimary_rule = "${rule}"\n`, { "--port": "8080" });
const config = configOf("SUP-4");
const good = routesToml(config, baseUrl("127.0.0.1", 8080));
const lines = good.split("\n");
const lineOf = (start: string) => lines.findIndex((line) => line.startsWith(start)) + 1;

const findings = (text: string, given = config) =>
  checkRoutes("routes.toml", text, given).map(
    ({ line, severity, message }) => `${line} ${severity}: ${message}`,
  );
const withSettings = (base: number, step: number) =>
  good
    .replace("base_threshold = 0.80", `base_threshold = ${base}`)
    .replace("threshold_step = 0.0", `threshold_step = ${step}`);

/** A stage_router that asks the judge, as Switchyard takes it. */
const stageRouter = (step: number) =>
  good.slice(0, good.indexOf("[routes.auto]")) +
  `[routes.auto]
id = "auto"
type = "stage_router"
picker = "capable_first"
confidence_threshold = 0.5
capable_target = "strong"
efficient_target = "weak"
[routes.auto.classifier]
target = "prefill"
base_threshold = 0.6
threshold_step = ${step}
`;

describe("threshold_step", () => {
  const place = lineOf("threshold_step");
  test("is named with the threshold that it makes for the judge's rule", () => {
    for (const [rule, threshold] of [
      ["UNC-1", "0.70"],
      ["UNC-2", "0.70"],
      ["none", "0.70"],
      ["LIM-1", "0.80"],
      ["LIM-2", "0.80"],
    ] as const) {
      const [found, ...more] = findings(withSettings(0.6, 0.1), configOf(rule));
      assert.deepEqual(more, []);
      const steps = thresholdSteps(rule);
      const start = `${place} warning: judge prefill-judge answers ${rule}, which adds ${steps} × 0.1`;
      assert.ok(found!.startsWith(start), found);
      assert.ok(found!.includes(`the threshold is ${threshold}; write threshold_step = 0.0`), found);
    }
  });
  test("adds nothing under a rule of the supported", () => {
    for (const rule of ["SUP-1", "SUP-2", "SUP-3", "SUP-4", "SUP-5"] as const)
      assert.deepEqual(findings(withSettings(0.6, 0.1), configOf(rule)), []);
  });
  test("of zero or none is right under every rule", () => {
    for (const rule of ["UNC-1", "LIM-2", "none", "SUP-1"] as const) {
      assert.deepEqual(findings(good, configOf(rule)), []);
      assert.deepEqual(findings(good.replace("threshold_step = 0.0\n", ""), configOf(rule)), []);
    }
  });
  test("that lifts the threshold to 1 or more is an error: no p_solve gets there", () => {
    for (const [rule, base, step] of [
      ["LIM-1", 0.6, 0.2],
      ["UNC-1", 0.8, 0.2],
      ["UNC-1", 0.9, 0.2],
    ] as const) {
      const [found] = findings(withSettings(base, step), configOf(rule));
      assert.match(found!, new RegExp(`^${place} error: `), `${rule} ${base} ${step}`);
    }
  });
  test("with which Switchyard does not start (base_threshold + 2 × threshold_step > 1) is an error under every rule", () => {
    for (const rule of ["SUP-4", "UNC-1", "LIM-1"] as const) {
      const [found] = findings(withSettings(0.8, 0.2), configOf(rule));
      assert.match(found ?? "", new RegExp(`^${place} error: `), rule);
    }
  });
});

describe("the route", () => {
  test("without base_threshold is an error at its table", () => {
    const [found, ...more] = findings(good.replace("base_threshold = 0.80\n", ""));
    assert.deepEqual(more, []);
    assert.match(
      found!,
      new RegExp(`^${lineOf("[routes.auto]")} error: base_threshold is missing.* write base`),
    );
  });
  test("in mode escalation is an error at its mode", () => {
    for (const [escalation, often] of [
      ["stay", "never"],
      ["escalate", "always"],
    ]) {
      const given = parseConfig(`[judges.prefill-judge]\nescalation = "${escalation}"\n`, {
        "--port": "8080",
      });
      assert.deepEqual(findings(good.replace('"capability"', '"escalation"'), given), [
        `${lineOf("mode")} error: this judge reads the prompt, not a running transcript, and ${often} escalates; write mode = "capability"`,
      ]);
    }
  });
  test("of type stage_router has its thresholds in the table of its classifier", () => {
    assert.deepEqual(findings(stageRouter(0)), []);
    const text = stageRouter(0.1);
    const [found, ...more] = findings(text, configOf("UNC-1"));
    assert.deepEqual(more, []);
    const place = text.split("\n").indexOf("threshold_step = 0.1") + 1;
    assert.match(found!, new RegExp(`^${place} warning: judge prefill-judge answers UNC-1`));
  });
  test("that asks somebody else is none of this server's business", () => {
    const other = `
[llm_clients.other]
format = "openai_chat"
base_url = "https://api.example/v1"
[targets.other]
id = "gpt-5-mini"
llm_client = "other"
[routes.other]
id = "other"
type = "llm_classifier"
mode = "escalation"
classifier_target = "other"
strong_target = "strong"
weak_target = "weak"
`;
    assert.deepEqual(findings(good + other), []);
  });
});

describe("a route of custom mode", () => {
  const table = `[judges.prefill-judge.custom]
pointer = "/decision/target"
targets = { efficient = "mistralai/Mixtral-8x7B-Instruct-v0.1", capable = "gpt-4-1106-preview" }
costs = { efficient = 1, capable = 20 }
`;
  const given = parseConfig(table, { "--port": "8080" });
  const printed = routesToml(given, baseUrl("127.0.0.1", 8080));
  const place = (start: string) => printed.split("\n").findIndex((line) => line.startsWith(start)) + 1;

  test("is right as `routes` prints it, for every name and pointer", () => {
    assert.deepEqual(findings(printed, given), []);
    for (const more of [
      'template = { decision = { why = "x" }, list = [1] }',
      'default = "it\'s \\"big\\""',
    ]) {
      const odd = table
        .replace("capable =", '"it\'s \\"big\\"" =')
        .replace(", capable =", ', "it\'s \\"big\\"" =')
        .replace("/decision/target", "/decision/a~1b c");
      const text = more.startsWith("default") ? odd + more : table + more;
      const other = parseConfig(text, { "--port": "8080" });
      assert.deepEqual(findings(routesToml(other, baseUrl("127.0.0.1", 8080)), other), [], more);
    }
  });
  test("wants a table of its judge", () => {
    const [found, ...more] = findings(printed);
    assert.deepEqual(more, []);
    assert.ok(
      found!.startsWith(
        `${place("mode")} error: judge prefill-judge has no table [judges.prefill-judge.custom]`,
      ),
      found,
    );
  });
  for (const [name, from, to, start, message] of [
    [
      "another selector",
      'selector = "/decision/target"',
      'selector = "/target"',
      "policy",
      /answers at \/decision\/target/,
    ],
    [
      "a group that is missing",
      ', capable = ["capable"]',
      "",
      "models",
      /models has no capable, which judge/,
    ],
    [
      "a schema without a group",
      '"efficient","capable"]',
      '"efficient"]',
      "response_schema",
      /for capable; allow it/,
    ],
    [
      "a schema that wants more",
      '"required":["decision"]',
      '"required":["decision","x"]',
      "response_schema",
      /for efficient, capable; allow/,
    ],
  ] as const) {
    test(`is held against the table: ${name}`, () => {
      assert.ok(printed.includes(from));
      const [found, ...more] = findings(printed.replace(from, to), given);
      assert.deepEqual(more, []);
      assert.ok(found!.startsWith(`${place(start)} error: `), found);
      assert.match(found!, message);
    });
  }
});

describe("findings", () => {
  test("come in the order of their lines, each once though two routes share it", () => {
    const text = `${good.replace(/timeout_ms.*\n/, "").replace('"openai_chat"', '"gemini"')}
[routes.second]
id = "second"
type = "llm_classifier"
mode = "escalation"
classifier_target = "prefill"
strong_target = "strong"
weak_target = "weak"
`;
    const found = checkRoutes("routes.toml", text, config);
    assert.deepEqual(
      found.map(({ severity, message }) => `${severity} ${/format|timeout_ms|mode/.exec(message)?.[0]}`),
      ["warning timeout_ms", "error format", "error mode"],
    );
    assert.deepEqual(
      found.map(({ line }) => line),
      found.map(({ line }) => line).toSorted((a, b) => a - b),
    );
  });
  test("are none for a text that is not TOML or not of Switchyard's shape: it is refused in one line", () => {
    const refused = (text: string) =>
      refusal("usage", () => checkRoutes("routes.toml", text, config)).message;
    assert.match(refused("[routes\n"), /^routes\.toml line 1, column \d+: not TOML; mend it first$/);
    assert.match(
      refused("[routes]\nauto = 3\n"),
      /^routes\.toml: routes\.auto: .*; Switchyard would not take it/,
    );
    assert.match(refused(good.replace("0.80", '"0.80"')), /^routes\.toml: routes\.auto\.base_threshold: /);
  });
  test("of an empty file is that nobody asks this server", () => {
    assert.deepEqual(
      findings("").map((found) => found.split(" (")[0]),
      ["1 error: no route asks a judge of this server"],
    );
  });
});
