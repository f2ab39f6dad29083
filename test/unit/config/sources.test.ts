// What a configuration is refused for, and what the one line says.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { loadConfig } from "../../../src/config/config.js";
import { packagePath } from "../../support/fixtures.js";
import { refusal } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "prefill-judge-config-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, "judge.toml");
const sources = { env: {}, flags: {}, packageRoot: packagePath("") };

/** What is said about a file with this content. */
function messageFor(toml: string): string {
  writeFileSync(file, toml);
  return refusal("config", () => loadConfig({ ...sources, file })).message;
}

describe("an unknown key is named together with the nearest known one", () => {
  const cases: Readonly<Record<string, readonly [toml: string, place: string, nearest: string]>> = {
    "at the top": ['default_juge = "x"', "default_juge", "default_judge"],
    "a table at the top": ["[runtimes]\nthreads = 1", "runtimes", "runtime"],
    "in [server]": ["[server]\nprot = 1", "server.prot", "port"],
    "in [runtime]": ["[runtime]\ndeadline = 1", "runtime.deadline", "deadline_ms"],
    "in an encoder": ['[encoders.own]\npaht = "x"', "encoders.own.paht", "path"],
    "in a table of custom mode": [
      '[judges.prefill-judge.custom]\npointr = "/a"',
      "judges.prefill-judge.custom.pointr",
      "pointer",
    ],
    "in a judge": ['[judges.prefill-judge]\nalias = ["x"]', "judges.prefill-judge.alias", "aliases"],
  };
  for (const [name, [toml, place, nearest]] of Object.entries(cases)) {
    test(name, () => {
      assert.equal(messageFor(toml), `${file}: unknown key ${place}; the nearest known one is ${nearest}`);
    });
  }
  test("in the environment", () => {
    const env = { PREFILL_JUDGE_PROT: "1" };
    const { message } = refusal("config", () => loadConfig({ ...sources, env }));
    assert.match(
      message,
      /unknown variable PREFILL_JUDGE_PROT; the nearest known one is PREFILL_JUDGE_PORT$/,
    );
  });
  test("the encoder of a judge", () => {
    const message = messageFor('[judges.prefill-judge]\nencoder = "minilmm"');
    assert.equal(
      message,
      'judges.prefill-judge.encoder: no encoder is named "minilmm"; the nearest known one is minilm',
    );
  });
  test("default_judge, by ids and aliases", () => {
    const aliases = '[judges.prefill-judge]\naliases = ["umpire"]';
    assert.equal(
      messageFor(`default_judge = "umpir"\n${aliases}`),
      'default_judge: no judge is named "umpir"; the nearest known one is umpire',
    );
  });
});

describe("a wrong value is named by its place", () => {
  const cases: Readonly<Record<string, string>> = {
    "server.port": '[server]\nport = "8080"',
    "server.host": "[server]\nhost = 1",
    "runtime.threads": "[runtime]\nthreads = 1.5",
    "runtime.deadline_ms": "[runtime]\ndeadline_ms = 0",
    "runtime.on_failure": '[runtime]\non_failure = "ignore"',
    "encoders.own.type": '[encoders.own]\ntype = "torch"',
    "judges.a.aliases.1": '[judges.a]\naliases = ["x", 2]',
    "judges.a.primary_rule": '[judges.a]\nprimary_rule = "SUP-9"',
    "judges.a.max_tokens": "[judges.a]\nmax_tokens = 0",
    "judges.a.truncation": '[judges.a]\ntruncation = "left"',
    "judges.a.escalation": '[judges.a]\nescalation = "never"',
    "judges.a.custom.pointer": '[judges.a.custom]\npointer = "decision/target"',
    "judges.a.custom.policy": '[judges.a.custom]\npolicy = "best"',
    "judges.a.custom.tolerance": "[judges.a.custom]\ntolerance = 1.5",
    "judges.a.custom.lambda": "[judges.a.custom]\nlambda = -0.1",
    "judges.a.custom.costs.x": "[judges.a.custom]\ncosts = { x = -1 }",
    "judges.a.custom.template.x": "[judges.a.custom]\ntemplate = { x = 2026-01-01 }",
    "judges.a.custom.template.y": "[judges.a.custom]\ntemplate = { y = nan }",
    judges: "judges = 1",
    default_judge: 'default_judge = " "',
  };
  for (const [place, toml] of Object.entries(cases)) {
    test(place, () => {
      assert.ok(messageFor(toml).startsWith(`${file}: ${place}: `), messageFor(toml));
    });
  }
  for (const text of ["http", "80.5", "-1", "65536", "0x50", " 80"]) {
    test(`--port ${JSON.stringify(text)} and PREFILL_JUDGE_PORT=${JSON.stringify(text)}`, () => {
      for (const given of [{ flags: { "--port": text } }, { env: { PREFILL_JUDGE_PORT: text } }]) {
        const { message } = refusal("config", () => loadConfig({ ...sources, ...given }));
        assert.match(message, /server\.port|--port|PREFILL_JUDGE_PORT/);
      }
    });
  }
});

/**
 * What Kubernetes gives a container about a Service, given the prefix that it makes of the Service's name.
 */
const serviceLinks = (prefix: string, address: string, protocol: string) => ({
  [`${prefix}_SERVICE_HOST`]: address,
  [`${prefix}_SERVICE_PORT`]: "8081",
  [`${prefix}_SERVICE_PORT_HTTP_METRICS`]: "9090",
  [`${prefix}_PORT`]: `${protocol}://${address}:8081`,
  [`${prefix}_PORT_8081_${protocol.toUpperCase()}`]: `${protocol}://${address}:8081`,
  [`${prefix}_PORT_8081_${protocol.toUpperCase()}_PROTO`]: protocol,
  [`${prefix}_PORT_8081_${protocol.toUpperCase()}_PORT`]: "8081",
  [`${prefix}_PORT_8081_${protocol.toUpperCase()}_ADDR`]: address,
});

test("an empty variable counts as none, and so do those that Kubernetes makes for Services of our name", () => {
  const env = {
    ...serviceLinks("PREFILL_JUDGE", "10.0.0.1", "tcp"),
    ...serviceLinks("PREFILL_JUDGE_CANARY", "fd00::1", "tcp"),
    ...serviceLinks("PREFILL_JUDGE_V2_PORT_B", "10.0.0.2", "udp"),
    PREFILL_JUDGE_LOG_LEVEL: "",
  };
  const { server, log } = loadConfig({ ...sources, env });
  assert.deepEqual([server.host, server.port, log.level], ["127.0.0.1", 8080, "info"]);
});

describe("what only looks like a variable of Kubernetes stops the start", () => {
  for (const [name, value] of [
    ["PREFILL_JUDGE_CANARY", "10.0.0.1"],
    ["PREFILL_JUDGE_CANARY_PORT", "8080"],
    ["PREFILL_JUDGE_SERVICE_HOST", "judge.internal"],
    ["PREFILL_JUDGE_SERVICE_PORTS", "8080"],
    ["PREFILL_JUDGE_SERVICE_NAME", "judge"],
    ["PREFILL_JUDGE_PORT_NUMBER", "8080"],
    ["PREFILL_JUDGE_PORT_8080_TCP_FLAGS", "1"],
    ["PREFILL_JUDGE_BASE_URL", "http://10.0.0.1:8080"],
  ] as const) {
    test(`${name}=${value}`, () => {
      const { message } = refusal("config", () => loadConfig({ ...sources, env: { [name]: value } }));
      assert.match(message, new RegExp(`^environment: unknown variable ${name}; the nearest known one is `));
    });
  }
});

test("names that differ by blanks at their ends are refused, not merged", () => {
  assert.match(messageFor('[judges."a "]\n[judges.a]'), /without blanks at its ends/);
});

test("what is not TOML is named by line and column", () => {
  assert.match(messageFor("[server]\nport = \n"), new RegExp(`^${file} line 2, column 8: not TOML: `));
  assert.match(messageFor("[server]\nport = 1\nport = 2"), /line 3, column 1: not TOML: /);
  assert.match(messageFor("[server\n"), /line 1, column 8: not TOML: /);
});

test("a file that cannot be read is named together with the reason", () => {
  const at = (name: string) => join(folder, name);
  execFileSync("mkfifo", [at("pipe.toml")]);
  for (const [path, finding] of [
    [at("missing.toml"), "is missing"],
    [at("pipe.toml"), "is a pipe, wanted a regular file"],
    [folder, "is a folder, wanted a regular file"],
    ["/dev/zero", "is a device, wanted a regular file"],
  ] as const) {
    const { message } = refusal("config", () => loadConfig({ ...sources, file: path }));
    assert.equal(message, `${path} ${finding}; give --config the path of a TOML file`);
    for (const setting of ["api_keys_file", "admin_key_file"]) {
      const found = messageFor(`[server]\n${setting} = "${path}"`);
      assert.equal(found, `server.${setting}: ${path} ${finding}; name a readable file`);
    }
  }
});

test("an empty [judges] is refused", () => {
  assert.equal(messageFor("[judges]"), `${file}: [judges] is empty; name one, or leave the table out`);
});

test("an own judge must name checkpoint and encoder, an own encoder type and path", () => {
  assert.match(messageFor('[judges.a]\nencoder = "minilm"'), /^judges\.a\.checkpoint is missing; wanted /);
  assert.match(
    messageFor('[judges.a]\ncheckpoint = "c"'),
    /^judges\.a\.encoder is missing; wanted one of smollm2, minilm$/,
  );
  const judge = '[judges.a]\ncheckpoint = "c"\nencoder = "own"';
  assert.match(messageFor(`[encoders.own]\ntype = "onnx"\n${judge}`), /^encoders\.own\.path is missing; /);
  assert.match(messageFor(`[encoders.own]\npath = "p"\n${judge}`), /^encoders\.own\.type is missing; /);
});

test("a name with a line feed is shown on one line", () => {
  assert.match(messageFor('"port\\nx" = 1'), /unknown key/);
  assert.match(messageFor('default_judge = "a\\nb"'), /default_judge: wanted a name without/);
});

test("an origin or a host that can never match stops the start", () => {
  assert.match(
    messageFor('[server]\ncors_origins = ["https://a.example/"]'),
    /write "https:\/\/a\.example"$/,
  );
  assert.match(messageFor('[server]\nallowed_hosts = ["https://a.example"]'), /write "a\.example"$/);
});

test("a table named __proto__ is not passed over", () => {
  assert.match(messageFor('[judges.prefill-judge]\n[judges.__proto__]\nencoder = "minilm"'), /__proto__/);
  assert.match(messageFor("[server]\n__proto__ = 1"), /__proto__/);
});

describe("a table of custom mode that lacks something says what:", () => {
  const table = (lines: string) => messageFor(`[judges.prefill-judge.custom]\n${lines}`);
  for (const [key, lines] of [
    ["pointer", 'targets = { capable = "x" }'],
    ["targets", 'pointer = "/a"'],
    ["default", 'pointer = "/a"\ntargets = { best = "x" }'],
  ] as const) {
    test(key, () => {
      assert.ok(
        table(lines).startsWith(`judges.prefill-judge.custom.${key} is missing; wanted `),
        table(lines),
      );
    });
  }
});
