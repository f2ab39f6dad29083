// What `routes check` says of a file, held against the real Switchyard 0.3.0: a file that it calls wrong is
// refused there, or breaks its users' requests as it says; one that it calls right routes both ways.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkRoutes } from "../../src/cli/routes/check.js";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import type { Config } from "../../src/config/config.js";
import { startSwitchyard } from "../support/clients/switchyard-process.js";
import { packagePath } from "../support/fixtures.js";
import { type JudgeServer, parseConfig, startJudgeServer, tinyConfig } from "../support/judge-server.js";

/** No answer is kept, and each takes five milliseconds at least: longer than the shortest timeout. */
const judgeConfig = `${tinyConfig}
[runtime]
cache_bytes = 0
max_wait_ms = 5
`;
const folder = mkdtempSync(join(tmpdir(), "judge-e2e-routes-"));
after(() => rmSync(folder, { recursive: true }));

const texts = ["Solve: 1+1", "What is the capital of France?", "Prove it. ".repeat(12), "x", "Grüße, 東京"];
let server: JudgeServer;
let config: Config;
/** The file that `prefill-judge routes` prints, with a threshold that lies between two of the texts. */
let good: string;
let weakText: string;
let strongText: string;
let middle: number;
let gap: number;

before(async () => {
  server = await startJudgeServer(judgeConfig, { "--deadline-ms": "20000" });
  const response = await server.post("/v1/score", { prompts: texts });
  const { results } = (await response.json()) as { results: { p_solve: number }[] };
  const sorted = results
    .map(({ p_solve: p }, index) => ({ p, text: texts[index]! }))
    .sort((one, two) => one.p - two.p);
  const [low, high] = [sorted[0]!, sorted.at(-1)!];
  [strongText, weakText, gap] = [low.text, high.text, high.p - low.p];
  assert.ok(gap > 0.02, `p_solve ${low.p} to ${high.p}`);
  middle = (low.p + high.p) / 2;
  config = parseConfig(judgeConfig, { "--port": new URL(server.url).port });
  good = routesToml(config, server.url).replace("0.80", middle.toFixed(6));
});
after(() => server?.close());

const errors = (text: string) =>
  checkRoutes("routes.toml", text, config)
    .filter(({ severity }) => severity === "error")
    .map(({ message }) => message);

/** Where Switchyard sends the text that the weak model solves, and the other one: model, or HTTP status. */
async function outcomes(text: string): Promise<(string | number | null)[]> {
  const router = await startSwitchyard(text);
  try {
    const weak = await router.ask([{ role: "user", content: weakText }]);
    const strong = await router.ask([{ role: "user", content: strongText }]);
    return [weak, strong].map(({ status, model }) => (status === 200 ? model : status));
  } finally {
    await router.close();
  }
}

/** Why Switchyard does not start with this file; null when it does. */
function whyRefused(text: string): string | null {
  const file = join(folder, "routes.toml");
  writeFileSync(file, text);
  const { status, stderr } = spawnSync(
    packagePath(".venv/bin/python"),
    [packagePath("test/e2e/switchyard.py"), file],
    { input: "", encoding: "utf8", env: { ...process.env, RUST_LOG: "error" } },
  );
  return status === 0 ? null : stderr;
}

const set = (key: string, line: string) => good.replace(new RegExp(`^${key} = .*$`, "m"), line);
const thresholds = (base: number, step: number) =>
  set("base_threshold", `base_threshold = ${base}`).replace(
    "threshold_step = 0.0",
    `threshold_step = ${step}`,
  );
const withRule = (rule: string) => judgeConfig.replace("[runtime]", `primary_rule = "${rule}"\n[runtime]`);
const stageRouter = (base: string) => `${good.slice(0, good.indexOf("[routes.auto]"))}[routes.auto]
id = "auto"
type = "stage_router"
picker = "capable_first"
confidence_threshold = 0.5
capable_target = "strong"
efficient_target = "weak"
classifier = { target = "prefill"${base} }
`;
const inMode = (mode: string, rest: string) => good.replace(/^mode[\s\S]*/m, `mode = "${mode}"\n${rest}\n`);
const targets = 'classifier_target = "prefill"\nstrong_target = "strong"\nweak_target = "weak"';
const groups =
  'models = { judge = ["prefill"], any = ["weak", "strong"], capable = ["strong"], efficient = ["weak"] }';
const custom = `${groups}
default_target = "capable"
prompt = "Which one?"
response_schema = '{"type":"object","properties":{"target":{"type":"string"}}}'
policy = { type = "target_selector", selector = "/target" }`;

test("the printed file is called right, and routes both ways", async () => {
  assert.deepEqual(checkRoutes("routes.toml", good, config), []);
  assert.deepEqual(await outcomes(good), ["weak-model", "strong-model"]);
});

describe("a file with an error does not start Switchyard", () => {
  const cases: Readonly<Record<string, readonly [make: () => string, reason: RegExp]>> = {
    "no base_threshold": [() => set("base_threshold", ""), /requires base_threshold/],
    "no such target": [() => set("classifier_target", 'classifier_target = "none"'), /unknown target none/],
    "no base_url": [() => set("base_url", ""), /missing field `base_url`/],
    "base_url without http": [() => set("base_url", 'base_url = "127.0.0.1/v1"'), /absolute HTTP\(S\) URL/],
    "base_threshold + 2 × threshold_step above 1": [() => thresholds(0.8, 0.2), /must be at most 1/],
    "stage_router without base_threshold": [() => stageRouter(""), /missing field `base_threshold`/],
  };
  for (const [name, [make, reason]] of Object.entries(cases)) {
    test(name, () => {
      assert.match(whyRefused(make()) ?? "", reason);
      assert.equal(errors(make()).length, 1);
    });
  }
});

describe("a file without an error starts Switchyard", () => {
  const cases: Readonly<Record<string, () => string>> = {
    "another format": () => set("format", 'format = "openai_responses"'),
    "threshold_step that fits": () => thresholds(0.6, 0.2),
    stage_router: () => stageRouter(", base_threshold = 0.6"),
    "no mode": () => set("mode", ""),
    "base_url without /v1": () => good.replace(`${server.url}/v1`, server.url),
  };
  for (const [name, make] of Object.entries(cases)) {
    test(name, () => {
      assert.equal(whyRefused(make()), null);
      assert.deepEqual(errors(make()), []);
    });
  }
});

describe("a base_url that ends with an operation, which Switchyard takes off", () => {
  for (const [format, path, works] of [
    ["openai_chat", "/v1/chat/completions", true],
    ["openai_chat", "/chat/completions", true],
    ["openai_responses", "/v1/responses", true],
    ["anthropic_messages", "/v1/messages", true],
    ["anthropic_messages", "/messages", false],
    ["anthropic_messages", "/v1/chat/completions", false],
  ] as const) {
    test(`${format} at ${path}: ${works ? "routes both ways" : "is an error"}`, async () => {
      const text = set("format", `format = "${format}"`).replace(`${server.url}/v1`, server.url + path);
      assert.equal(errors(text).length, works ? 0 : 1);
      assert.deepEqual(await outcomes(text), works ? ["weak-model", "strong-model"] : [404, 404]);
    });
  }
});

describe("a file with an error breaks the users' requests", () => {
  const cases: Readonly<Record<string, readonly [make: () => string, both: string | number]>> = {
    "an id that no judge has": [() => good.replace('id = "tiny"', 'id = "tinny"'), 404],
    "another path": [() => good.replace("/v1", "/v2"), 404],
    "another port": [() => good.replace(/(127\.0\.0\.1):\d+/, "$1:1"), 502],
    "https, which this server does not speak": [() => good.replace("http:", "https:"), 502],
    "a timeout below the judge's time": [() => set("timeout_ms", "timeout_ms = 1"), 504],
    "mode escalation": [() => inMode("escalation", `${targets}\n[routes.auto.escalation]`), "weak-model"],
    "mode custom": [() => inMode("custom", custom), "strong-model"],
  };
  for (const [name, [make, both]] of Object.entries(cases)) {
    test(`${name}: ${both}, whatever is asked`, async () => {
      assert.deepEqual(await outcomes(make()), [both, both]);
      assert.equal(errors(make()).length, 1, errors(make()).join("\n"));
    });
  }
});

test("a threshold_step lifts the threshold by the judge's rule, as the warning says", async () => {
  const text = thresholds(middle, gap * 0.75);
  assert.deepEqual(await outcomes(text), ["weak-model", "strong-model"]);
  await server.reload(withRule("UNC-1"));
  const lifted = await outcomes(text).finally(() => server.reload(judgeConfig));
  assert.deepEqual(lifted, ["strong-model", "strong-model"]);
  const given = parseConfig(withRule("UNC-1"), { "--port": new URL(server.url).port });
  const [found] = checkRoutes("routes.toml", text, given);
  assert.ok(found?.message.includes(`the threshold is ${(middle + gap * 0.75).toFixed(2)};`), found?.message);
});

/** How long a user waits for a judge that takes connections and never answers; at most so long. */
async function waits(line: string, atMostMs: number): Promise<number> {
  const sockets: Socket[] = [];
  const hanging = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await once(hanging, "listening");
  const { port } = hanging.address() as AddressInfo;
  const router = await startSwitchyard(
    set("timeout_ms", line).replace(server.url, `http://127.0.0.1:${port}`),
  );
  const started = performance.now();
  const asked = router.ask([{ role: "user", content: "x" }]).catch(() => {});
  await Promise.race([asked, sleep(atMostMs)]);
  const waited = performance.now() - started;
  hanging.close();
  for (const socket of sockets) socket.destroy();
  await router.close();
  return waited;
}

test("a judge that hangs: timeout_ms bounds the user's wait, retries included; without it the wait goes on", async () => {
  const bounded = await waits("timeout_ms = 700\nmax_retries = 5", 5000);
  assert.ok(bounded >= 690 && bounded < 1400, `${bounded} ms`);
  assert.ok((await waits("", 3000)) >= 2990);
  assert.match(
    checkRoutes("routes.toml", set("timeout_ms", ""), config)[0]!.message,
    /^without timeout_ms Switchyard waits for ever; /,
  );
  const retries = set("timeout_ms", "timeout_ms = 9000\nmax_retries = 5");
  assert.deepEqual(checkRoutes("routes.toml", retries, config), []);
});
