// The configuration from its four sources. What is refused, and in which words: config-sources.test.ts.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { type Config, type ConfigSources, loadConfig, usedEncoders } from "../../../src/config/config.js";
import { usableProcessors } from "../../../src/config/processors.js";
import { settings } from "../../../src/config/settings.js";
import { packagePath } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "prefill-judge-config-"));
after(() => rmSync(folder, { recursive: true }));

function load(toml: string | null, given: Partial<ConfigSources> = {}): Config {
  const file = join(folder, "judge.toml");
  if (toml !== null) writeFileSync(file, toml);
  return loadConfig({
    ...(toml !== null && { file }),
    env: {},
    flags: {},
    packageRoot: packagePath(""),
    ...given,
  });
}

/** Reads the file again while `running` is in service. */
const again = (toml: string, running: Config) => load(toml, { running });
const own = '[judges.a]\ncheckpoint = "x"\nencoder = "minilm"\n';

test("a file that has lost its judges is refused when it is read again, never taken for the embedded ones", () => {
  const running = load(own);
  assert.equal(running.namesJudges, true);
  for (const [toml, finding] of [
    ["", "is empty by now"],
    [" \n\n", "is empty by now"],
    ["# [judges.a]\n", "is empty by now"],
    ["[server]\nport = 9000\n", "has no [judges] any more"],
  ] as const) {
    const { message } = refusal("config", () => again(toml, running));
    const remedy = "write it again, or start the server again for the embedded judges";
    assert.equal(message, `${join(folder, "judge.toml")} ${finding}; ${remedy}`);
  }
  assert.deepEqual(again(own, running), running);
});

test("a server of the embedded judges reads a file without judges again, but no empty one", () => {
  for (const running of [load("[server]\nport = 9000\n"), load("")]) {
    assert.equal(running.namesJudges, false);
    assert.equal(again("[server]\nport = 9001\n", running).judges[0]!.id, "prefill-judge");
    assert.equal(again(own, running).judges[0]!.id, "a");
    refusal("config", () => again("", running));
  }
  assert.equal(load(null, { running: load(null) }).judges[0]!.id, "prefill-judge");
});

const embedded = {
  id: "prefill-judge",
  checkpoint: packagePath("checkpoints/smollm2-135m"),
  encoder: "smollm2",
  output: "mistralai/Mixtral-8x7B-Instruct-v0.1",
  aliases: [],
  primaryRule: "SUP-4",
  maxTokens: null,
  truncation: null,
  spaces: "single",
  envelopes: "strip",
  onTruncation: "judge",
  message: null,
  calibration: "on",
  acceptEncoder: null,
  escalation: "stay",
  custom: null,
};

test("without any source the two embedded judges are served on 127.0.0.1:8080", () => {
  const { defaultJudge, server, runtime, encoders, judges } = load(null);
  assert.equal(defaultJudge, null);
  assert.deepEqual([server.host, server.port], ["127.0.0.1", 8080]);
  assert.deepEqual(
    [runtime.threads, runtime.processes, runtime.deadlineMs, runtime.onFailure],
    [usableProcessors(), 1, 2000, "abstain"],
  );
  assert.deepEqual(encoders, [
    {
      id: "smollm2",
      type: "onnx",
      path: packagePath("checkpoints/smollm2-135m/encoder"),
      model: "HuggingFaceTB/SmolLM2-135M-Instruct",
    },
    {
      id: "minilm",
      type: "onnx",
      path: packagePath("checkpoints/minilm-l6/encoder"),
      model: "sentence-transformers/all-MiniLM-L6-v2",
    },
  ]);
  const fast = { id: "prefill-judge-fast", checkpoint: packagePath("checkpoints/minilm-l6"), spaces: null };
  assert.deepEqual(judges, [embedded, { ...embedded, ...fast, encoder: "minilm" }]);
});

/** What a setting may hold besides numbers and names. */
const words: Readonly<Record<string, readonly string[]>> = {
  on_failure: ["error", "abstain", "error"],
  level: ["warn", "error", "debug"],
};
const judgeWithAliases = '[judges.prefill-judge]\naliases = ["a", "b", "c"]';
for (const { flag, env, path, kind } of settings) {
  const key = path.at(-1)!;
  const texts = words[key] ?? (kind === "number" ? ["11", "12", "13"] : ["a", "b", "c"]);
  const [inFile, inEnv, inFlags] = texts as [string, string, string];
  const value = (text: string) => (kind === "number" ? Number(text) : text);
  const table = path.length === 1 ? "" : `[${path[0]}]\n`;
  const toml = `${table}${key} = ${JSON.stringify(value(inFile))}\n${judgeWithAliases}`;
  const camel = (text: string) => text.replace(/_[a-z]/g, (part) => part[1]!.toUpperCase());
  test(`${path.join(".")}: the flag outranks the variable, which outranks the file`, () => {
    const found = (given: Partial<ConfigSources>) =>
      path.reduce((part: unknown, step) => (part as Record<string, unknown>)[camel(step)], load(toml, given));
    assert.equal(found({}), value(inFile));
    assert.equal(found({ env: { [env]: inEnv } }), value(inEnv));
    assert.equal(found({ env: { [env]: inEnv }, flags: { [flag]: inFlags } }), value(inFlags));
    assert.equal(found({ flags: { [flag]: inEnv } }), value(inEnv));
  });
}

test("the settings of the first issue can be given by variable and flag", () => {
  const flags = settings.map(({ flag }) => flag as string);
  for (const flag of ["--host", "--port", "--default-judge", "--threads", "--deadline-ms", "--on-failure"]) {
    assert.ok(flags.includes(flag), flag);
  }
});

test("threads that are not given are shared out among the processes, at least one each", () => {
  const threads = (toml: string) => load(toml).runtime.threads;
  assert.equal(threads("[runtime]\nprocesses = 2"), Math.max(1, Math.floor(usableProcessors() / 2)));
  assert.equal(threads("[runtime]\nprocesses = 256"), Math.max(1, Math.floor(usableProcessors() / 256)));
  assert.equal(threads("[runtime]\nprocesses = 2\nthreads = 5"), 5);
});

test("settings of one table may come from different sources", () => {
  const config = load("[runtime]\nthreads = 3\ndeadline_ms = 5", {
    env: { PREFILL_JUDGE_DEADLINE_MS: "6" },
    flags: { "--on-failure": "error" },
  });
  const { threads, deadlineMs, onFailure } = config.runtime;
  assert.deepEqual([threads, deadlineMs, onFailure], [3, 6, "error"]);
});

test("paths in the file are relative to the file, absolute ones stay", () => {
  const toml = `[encoders.own]\ntype = "onnx"\npath = "models/own"\n[encoders.far]\ntype = "onnx"\npath = "/far/away"
[judges.one]\ncheckpoint = "../heads/one"\nencoder = "own"\n[judges.two]\ncheckpoint = "/heads/two"\nencoder = "far"`;
  const check = (config: Config) => {
    assert.deepEqual(
      usedEncoders(config).map(({ path }) => path),
      [join(folder, "models/own"), "/far/away"],
    );
    assert.deepEqual(
      config.judges.map(({ checkpoint }) => checkpoint),
      [join(folder, "../heads/one"), "/heads/two"],
    );
  };
  check(load(toml));
  check(load(toml, { file: relative(process.cwd(), join(folder, "judge.toml")) }));
});

test("PREFILL_JUDGE_CONFIG names the file; --config outranks it", () => {
  const other = join(folder, "other.toml");
  writeFileSync(other, "[server]\nport = 1");
  const env = { PREFILL_JUDGE_CONFIG: other };
  assert.equal(load(null, { env }).server.port, 1);
  assert.equal(load("[server]\nport = 2", { env }).server.port, 2);
});

test("variables without the prefix are not read", () => {
  assert.equal(load(null, { env: { PORT: "1", HOST: "x", PREFILL: "y" } }).server.port, 8080);
});

test("a table of an embedded judge overrides only what it names", () => {
  const config = load(
    '[judges.prefill-judge]\naliases = ["judge"]\nprimary_rule = "UNC-1"\nmax_tokens = 99\ntruncation = "right"\non_truncation = "abstain"',
  );
  const given = {
    aliases: ["judge"],
    primaryRule: "UNC-1",
    maxTokens: 99,
    truncation: "right",
    onTruncation: "abstain",
  };
  assert.deepEqual(config.judges, [{ ...embedded, ...given }]);
  assert.deepEqual(
    usedEncoders(config).map(({ id }) => id),
    ["smollm2"],
  );
});

test("what is known of an embedded judge's text is not told of another checkpoint under its name", () => {
  const [own] = load('[judges.prefill-judge]\ncheckpoint = "mine"\noutput = "weak"').judges;
  assert.deepEqual([own!.envelopes, own!.spaces, own!.encoder], [null, null, "smollm2"]);
  const [single] = load('[judges.prefill-judge]\ncheckpoint = "mine"').judges;
  assert.equal(single!.output, null, "nor is its output");
  const [kept] = load('[judges.prefill-judge]\nenvelopes = "keep"\nspaces = "keep"').judges;
  assert.deepEqual([kept!.envelopes, kept!.spaces], ["keep", "keep"]);
});

test("envelopes of one's own stand beside the package's; one without an end is refused", () => {
  const { envelopes, ownEnvelopes } = load(
    '[[envelopes]]\nclient = "ide"\nkind = "block"\nstart = "<<x"\nend = "x>>"\n[[envelopes]]\nclient = "ide"\nkind = "message"\nstart = "NOTE"',
  );
  assert.ok(new Set(envelopes.map(({ client }) => client)).size >= 8);
  assert.deepEqual(ownEnvelopes, [
    { client: "ide", kind: "block", start: "<<x", end: "x>>" },
    { client: "ide", kind: "message", start: "NOTE", end: null },
  ]);
  for (const kind of ["block", "wrapper"]) {
    const error = refusal("config", () =>
      load(`[[envelopes]]\nclient = "ide"\nkind = "${kind}"\nstart = "<<x"`),
    );
    assert.match(error.message, /client ide has no end/);
  }
});

test("a table of an embedded encoder with another path forgets the model's name, and both judges stay", () => {
  const { encoders, judges } = load('[encoders.minilm]\npath = "elsewhere"');
  assert.equal(judges.length, 2);
  assert.deepEqual(encoders[1], { id: "minilm", type: "onnx", path: join(folder, "elsewhere"), model: null });
});

test("[judges] replaces the embedded judges, and encoders that no judge uses are known, but not used", () => {
  const config = load('[judges.mine]\ncheckpoint = "c"\nencoder = "minilm"');
  assert.deepEqual(
    config.judges.map(({ id, output }) => [id, output]),
    [["mine", null]],
  );
  assert.deepEqual(
    usedEncoders(config).map(({ id, path }) => [id, path]),
    [["minilm", packagePath("checkpoints/minilm-l6/encoder")]],
  );
  const ids = ({ encoders }: Config) => encoders.map(({ id }) => id);
  assert.deepEqual([ids(config), config.ownEncoders], [["smollm2", "minilm"], []]);
  const own = load('[encoders.far]\ntype = "onnx"\npath = "far"');
  assert.deepEqual([ids(own), own.ownEncoders], [["smollm2", "minilm", "far"], ["far"]]);
  assert.deepEqual(ids({ ...own, encoders: usedEncoders(own) }), ["smollm2", "minilm"]);
});

test("default_judge may be an alias", () => {
  assert.equal(load(`default_judge = "b"\n${judgeWithAliases}`).defaultJudge, "b");
});

test("the configuration cannot be changed at any depth", () => {
  const config = load(judgeWithAliases);
  const parts = [config, config.server, config.runtime, config.judges, config.judges[0], config.encoders];
  for (const part of [...parts, config.encoders[0], config.judges[0]!.aliases]) {
    assert.ok(Object.isFrozen(part), JSON.stringify(part));
  }
});

test("a table of custom mode has its defaults, and keeps a template of any depth", () => {
  const custom = (lines: string) =>
    load(`[judges.prefill-judge.custom]\npointer = "/a"\n${lines}`).judges[0]!.custom;
  const targets = { capable: "gpt-4-1106-preview" };
  const given = 'targets = { capable = "gpt-4-1106-preview" }\n';
  const bare = {
    pointer: "/a",
    targets,
    rule: { policy: "tolerance", tolerance: 0.2 },
    costs: null,
    template: {},
    defaultGroup: "capable",
  };
  assert.deepEqual(custom(given), bare);
  const rule = { policy: "utility", lambda: 0.5 };
  const template = { b: [1, { c: "x" }], d: true };
  assert.deepEqual(custom(`${given}policy = "utility"\ntemplate = { b = [1, { c = "x" }], d = true }\n`), {
    ...bare,
    rule,
    template,
  });
  assert.deepEqual(custom(`${given}policy = "max"\ncosts = { capable = 3 }`), {
    ...bare,
    rule: { policy: "max" },
    costs: { capable: 3 },
  });
  assert.equal(load('[judges.prefill-judge]\nescalation = "escalate"\n').judges[0]!.escalation, "escalate");
});
