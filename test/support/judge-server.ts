// A real server in the test's process: configuration text in, base URL out. Its judge runs on the tiny
// encoder unless the text says otherwise.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, loadConfig } from "../../src/config/config.js";
import type { OnnxEncoder } from "../../src/encoder/onnx/onnx-encoder.js";
import type { Judges } from "../../src/server/judges.js";
import { startServer } from "../../src/server/start.js";
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
  const logLines: string[] = [];
  const server = await startServer(() => parse(current), {
    packageRoot,
    version: "0.0.0-test",
    logTarget: () => ({ write: (line) => logLines.push(line) }),
    openFileLimit: Number.POSITIVE_INFINITY,
  });
  if (start) await server.load();
  const { url, judges } = server;
  return {
    url,
    judges,
    logLines,
    encoderPid: () => (judges.encoders[0]!.encoder as OnnxEncoder).pids[0],
    async reload(next) {
      current = next;
      return await server.reload();
    },
    post: (path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    close: () => server.close({ graceMs: 5000, lastCallMs: 0, leaveMs: 0 }),
  };
}

/** The body of a chat request with one user message. */
export function chat(content: unknown, more: object = {}) {
  return { model: "tiny", messages: [{ role: "user", content }], ...more };
}
