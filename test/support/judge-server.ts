// A real server in the test's process: configuration text in, base URL out. Its judge runs on the tiny encoder unless
// the text says otherwise.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, loadConfig } from "../../src/config/config.js";
import type { OnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import { listen } from "../../src/http/connection/listen.js";
import { createProbabilityCache } from "../../src/judge/probability-cache.js";
import { createLog } from "../../src/observe/log.js";
import { createMetrics } from "../../src/observe/metrics.js";
import { composeApp, readCruxSentences } from "../../src/server/application.js";
import { composeJudges, type Judges } from "../../src/server/judges.js";
import { createReloader } from "../../src/server/reload.js";
import { fixturePath, packagePath, packageRoot } from "./fixtures.js";

/** One judge `tiny` (alias `judge`) on the tiny encoder: layers 0–3, outputs weak and strong. */
export const tinyConfig = `
[encoders.tiny]
type = "onnx"
path = "${fixturePath("tiny-encoder")}"
[judges.tiny]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "tiny"
output = "weak"
aliases = ["judge", "org/judge"]
max_tokens = 256
`;

export interface JudgeServer {
  readonly url: string;
  readonly judges: Judges;
  /** the JSON lines logged so far */
  readonly logLines: string[];
  /** process id of the first encoder's process */
  encoderPid(): number | undefined;
  /** Switches to another configuration, as SIGHUP does; checkpoint hash by judge. */
  reload(toml: string): Promise<Readonly<Record<string, string>>>;
  /** POSTs JSON (or a string as it is) */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Parses a configuration text as if it stood in a file of its own folder. */
export function parseConfig(toml: string, flags: Record<string, string> = {}): Config {
  const folder = mkdtempSync(join(tmpdir(), "judge-config-"));
  try {
    const file = join(folder, "prefill-judge.toml");
    writeFileSync(file, toml);
    return loadConfig({ file, env: {}, flags: { "--port": "0", ...flags }, packageRoot: packagePath("") });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param start false: the encoders are not started, as in the first moments of `serve` */
export async function startJudgeServer(toml = tinyConfig, flags = {}, start = true): Promise<JudgeServer> {
  return await startConfigured((text) => parseConfig(text, flags), toml, start);
}

/** @param parse turns a configuration text into a configuration, at the start and at each reload */
export async function startConfigured(
  parse: (toml: string) => Config,
  toml: string,
  start: boolean,
): Promise<JudgeServer> {
  let current = toml;
  const config = parse(current);
  const readConfig = () => parse(current);
  const logLines: string[] = [];
  const log = createLog({ write: (line) => logLines.push(line) }, config.log.level);
  const observers = { log, metrics: createMetrics() };
  const cache = createProbabilityCache(config.runtime.cacheBytes);
  const compose = (next: Config, running: Judges["encoders"], signal?: AbortSignal) =>
    composeJudges(next, observers, { running, cache, signal });
  const judges = await compose(config, []);
  const onEncoderGone = (id: string) => observers.metrics.encoderUp(id, false);
  const reloader = createReloader({ first: judges, readConfig, compose, log, onEncoderGone });
  const sentences = await readCruxSentences(packageRoot);
  const version = "0.0.0-test";
  const { app, onRefusal, onClosed } = composeApp({
    reloader,
    config,
    sentences,
    observers,
    version,
    draining: () => false,
  });
  const listening = await listen(app, { ...config.server, onRefusal, onClosed });
  if (start) await judges.start();
  const url = `http://127.0.0.1:${listening.port}`;
  return {
    url,
    judges,
    logLines,
    encoderPid: () => (judges.encoders[0]!.encoder as OnnxEncoder).pids[0],
    async reload(next) {
      current = next;
      return await reloader.reload();
    },
    post: (path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    async close() {
      await listening.close(5000);
      await reloader.close();
    },
  };
}

/** The body of a chat request with one user message. */
export function chat(content: unknown, more: object = {}) {
  return { model: "tiny", messages: [{ role: "user", content }], ...more };
}
