// The table of an encoder behind a vLLM server: its defaults, and what each mistake is called.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stringify } from "smol-toml";
import { loadConfig, usedEncoders } from "../../../src/config/config.js";
import type { EncoderConfig, VllmEncoderConfig } from "../../../src/config/schema.js";
import { packagePath } from "../../support/fixtures.js";
import { parseConfig } from "../../support/judge-server.js";
import { refusal } from "../../support/refusal.js";

const folder = mkdtempSync(join(tmpdir(), "prefill-judge-encoders-"));
after(() => rmSync(folder, { recursive: true }));

const table: Readonly<Record<string, unknown>> = {
  type: "vllm",
  path: "/models/far",
  model: "org/far",
  base_url: "http://127.0.0.1:8000/v1",
  captured_layers: [13, 7],
  hidden_states_root: "/dev/shm/judge",
};

/** What a file with this table of encoder `far` configures. */
function encoderOf(far: Readonly<Record<string, unknown>>, env: Record<string, string> = {}): EncoderConfig {
  const file = join(folder, "judge.toml");
  writeFileSync(file, stringify({ encoders: { far }, judges: { a: { checkpoint: "c", encoder: "far" } } }));
  return usedEncoders(loadConfig({ file, env, flags: {}, packageRoot: packagePath("") }))[0]!;
}

test("only what has no default must be named", () => {
  assert.deepEqual(encoderOf(table), {
    id: "far",
    type: "vllm",
    path: "/models/far",
    model: "org/far",
    baseUrls: ["http://127.0.0.1:8000/v1"],
    servedModel: "org/far",
    apiKey: null,
    capturedLayers: [13, 7],
    layerOffset: 0,
    hiddenStatesRoot: "/dev/shm/judge",
    requestTimeoutMs: 10_000,
    fileTimeoutMs: 1000,
    retryMs: 1000,
    probeIntervalMs: 5000,
    hedge: false,
    maxInFlight: 64,
    hiddenStatesMaxBytes: 4 * 2 ** 30,
    sweepIntervalMs: 60_000,
    staleMs: 300_000,
  });
});

test("the key is the value of the variable that api_key_env names", () => {
  const found = encoderOf({ ...table, api_key_env: "FAR_KEY" }, { FAR_KEY: " k-1\n" });
  assert.equal((found as VllmEncoderConfig).apiKey, "k-1");
});

const faults: readonly (readonly [changes: Readonly<Record<string, unknown>>, message: RegExp])[] = [
  [{ type: undefined }, /type is missing; wanted type = "onnx" or "vllm"/],
  [{ path: undefined }, /path is missing; wanted the folder of the model's tokenizer.json/],
  [{ model: undefined }, /model is missing/],
  [{ base_url: undefined }, /base_url is missing; wanted the server's/],
  [{ captured_layers: undefined }, /captured_layers is missing/],
  [{ captured_layers: [1, 2, 1] }, /captured_layers names a layer twice/],
  [{ layer_offset: -8 }, /layer_offset makes a captured layer negative/],
  [{ hidden_states_root: undefined }, /hidden_states_root is missing/],
  [{ api_key_env: "FAR_KEY" }, /api_key_env: FAR_KEY is not set/],
  [{ api_key_env: "BAD_KEY" }, /api_key_env: BAD_KEY holds more than a key/],
  [{ file_timeout_ms: 5000, stale_after_ms: 5000 }, /stale_after_ms is 5000, wanted more than/],
  [{ type: "onnx" }, /base_url is a key of another type of encoder/],
];
for (const [changes, message] of faults) {
  test(`refused: ${message.source}`, () => {
    const env = { BAD_KEY: "not a key" };
    const given = Object.entries({ ...table, ...changes }).filter(([, value]) => value !== undefined);
    const { message: found } = refusal("config", () => encoderOf(Object.fromEntries(given), env));
    assert.match(found, message);
    assert.match(found, /(^|: )encoders\.far\./);
  });
}

test("the file's own words are checked, and its folders are relative to it", () => {
  const toml = `[encoders.far]
type = "vllm"
path = "model"
served_model = "far"
base_url = ["http://127.0.0.1:8000/v1", "https://second/v1"]
captured_layers = [0]
hidden_states_root = "states"
[judges.far]
checkpoint = "head"
encoder = "far"
`;
  const [encoder] = usedEncoders(parseConfig(toml)) as VllmEncoderConfig[];
  assert.match(encoder!.path, /^\/.*\/model$/);
  assert.match(encoder!.hiddenStatesRoot, /^\/.*\/states$/);
  assert.equal(encoder!.baseUrls.length, 2);
  for (const [line, message] of [
    ['base_url = "ftp://a"', /encoders\.far\.base_url/],
    ["captured_layers = []", /encoders\.far\.captured_layers/],
    ['api_key_env = "A B"', /wanted the name of an environment variable/],
    ["hidden_state_root = 1", /unknown key encoders\.far\.hidden_state_root.*hidden_states_root/],
  ] as const) {
    const key = line.split(" ")[0]!;
    const changed = toml.replace(new RegExp(`^${key} .*$`, "m"), "").replace("[judges", `${line}\n[judges`);
    assert.match(refusal("config", () => parseConfig(changed)).message, message);
  }
});
