// Puts the parts together: the only file that names concrete adapters.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import { type Checkpoint, loadCheckpoint } from "./checkpoint/load.js";
import type { Config, EncoderConfig, JudgeConfig } from "./config.js";
import type { Encoder } from "./encoder/encoder.js";
import { createOnnxEncoder } from "./encoder/onnx/onnx-encoder.js";
import { JudgeError } from "./errors.js";
import { createAccess } from "./http/access.js";
import { createApp } from "./http/app.js";
import { createJudge, type Judge } from "./judge/judge.js";
import { createRegistry, type Registry } from "./judge/registry.js";
import type { Log } from "./observe/log.js";
import type { Metrics } from "./observe/metrics.js";
import { type CruxSentences, parseCruxSentences } from "./verdict/crux.js";

/** What is told of everything that happens. */
export interface Observers {
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface Judges {
  readonly registry: Registry;
  readonly encoders: readonly Encoder[];
  readonly sentences: CruxSentences;
  /**
   * Starts the encoders and passes every judge's selftest.
   *
   * @throws JudgeError with the first fault, one line
   */
  start(): Promise<void>;
  close(): Promise<void>;
}

const clock = () => performance.now();

/**
 * Loads the checkpoints and builds judges on encoders that have not been started.
 *
 * @param packageRoot folder of package.json, with prompts/
 * @throws JudgeError `checkpoint` or `config`
 */
export async function composeJudges(config: Config, packageRoot: URL, observers: Observers): Promise<Judges> {
  const { log } = observers;
  const sentences = await readCruxSentences(new URL("prompts/crux.json", packageRoot));
  const checkpoints = await Promise.all(config.judges.map((judge) => loadCheckpoint(judge.checkpoint)));
  const encoders = new Map(
    config.encoders.map((encoder) => [encoder.id, createEncoder(encoder, config, observers)]),
  );
  const judges = config.judges.map((judge, index) =>
    composeJudge(judge, checkpoints[index]!, encoders.get(judge.encoder)!, config, log),
  );
  const [first, ...rest] = judges;
  if (first === undefined) throw new JudgeError("config", "no judge is configured");
  return {
    registry: createRegistry([first, ...rest], config.defaultJudge),
    encoders: [...encoders.values()],
    sentences,
    async start() {
      const started = clock();
      await Promise.all([...encoders.values()].map((encoder) => encoder.start()));
      await Promise.all(judges.map((judge) => judge.prepare()));
      const readyMs = clock() - started;
      for (const judge of judges) {
        const selftestPrompts = judge.checkpoint.selftest?.prompts.length ?? 0;
        log.judgeReady({
          judge: judge.id,
          checkpoint: judge.checkpoint.hash,
          encoder: judge.encoder.id,
          selftestPrompts,
          readyMs,
        });
      }
    },
    async close() {
      await Promise.all([...encoders.values()].map((encoder) => encoder.close()));
    },
  };
}

async function readCruxSentences(file: URL): Promise<CruxSentences> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new JudgeError("config", "prompts/crux.json is missing or not JSON; restore it from the package", {
      cause: error,
    });
  }
  return parseCruxSentences(content);
}

export interface AppParts {
  readonly judges: Judges;
  readonly config: Config;
  readonly observers: Observers;
  readonly version: string;
  /** true once the server has been told to end */
  readonly draining: () => boolean;
}

/** The HTTP application on composed judges. */
export function composeApp({ judges, config, observers, version, draining }: AppParts) {
  const { server, runtime } = config;
  return createApp({
    registry: judges.registry,
    sentences: judges.sentences,
    onFailure: runtime.onFailure,
    access: createAccess(server.keys),
    metricsNeedKey: server.metricsNeedKey,
    corsOrigins: server.corsOrigins,
    maxBodyBytes: server.maxBodyBytes,
    ...observers,
    clock,
    now: () => Date.now(),
    startedSeconds: Math.floor(Date.now() / 1000),
    newId: randomUUID,
    draining,
    version,
  });
}

function createEncoder(
  { id, path }: EncoderConfig,
  { runtime }: Config,
  { log, metrics }: Observers,
): Encoder {
  let launchedMs = clock();
  return createOnnxEncoder({
    id,
    folder: path,
    threads: runtime.threads,
    events: {
      up({ device, threads }, restarts) {
        metrics.encoderUp(id, true);
        log.encoderUp({ encoder: id, device, threads, loadMs: clock() - launchedMs, restarts });
      },
      down({ code, signal, retryMs }) {
        launchedMs = clock() + retryMs;
        metrics.encoderUp(id, false);
        metrics.encoderRestarted(id);
        log.encoderDown({ encoder: id, exitCode: code, signal, retryMs });
      },
    },
  });
}

function composeJudge(
  config: JudgeConfig,
  checkpoint: Checkpoint,
  encoder: Encoder,
  { runtime }: Config,
  log: Log,
): Judge {
  return createJudge({
    id: config.id,
    aliases: config.aliases,
    checkpoint,
    encoder,
    output: chooseOutput(config, checkpoint),
    primaryRule: config.primaryRule,
    maxTokens: config.maxTokens,
    truncation: config.truncation,
    deadlineMs: runtime.deadlineMs,
    clock,
    onFault({ code, cause }) {
      log.fault({ judge: config.id, code, fault: cause instanceof Error ? cause.name : null });
    },
  });
}

function chooseOutput({ id, output }: JudgeConfig, { head, folder }: Checkpoint): string {
  const names = head.outputNames;
  if (output === null && names.length === 1) return names[0]!;
  if (output !== null && names.includes(output)) return output;
  const found = output === null ? "is missing" : `"${output}" is not an output of checkpoint ${folder}`;
  throw new JudgeError(
    "config",
    `judges.${id}.output ${found}; wanted one of ${names.map((name) => `"${name}"`).join(", ")}`,
  );
}
