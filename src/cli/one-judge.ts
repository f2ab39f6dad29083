// A single judge for a command: one of the configuration by its name, or a checkpoint on an encoder.
import { resolve } from "node:path";
import { loadCheckpoint } from "../checkpoint/load.js";
import { composeJudges } from "../compose.js";
import type { Config, EncoderConfig } from "../config.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge.js";
import { createLog } from "../observe/log.js";
import { createMetrics } from "../observe/metrics.js";

/** Commands wait as long as it takes. */
const noDeadlineMs = 3_600_000;

export interface CheckpointOnEncoder {
  readonly checkpoint: string;
  /** encoder folder, or the id of a configured encoder */
  readonly encoder: string;
}

/** The options of a command that takes either. */
export interface JudgeChoice {
  /** id or alias of a configured judge; used where no checkpoint is given */
  readonly judge?: string | undefined;
  readonly checkpoint?: string | undefined;
  /** encoder folder or configured encoder; needed with a checkpoint */
  readonly encoder?: string | undefined;
}

/**
 * Runs `work` with the checkpoint where one is given, else with the configured judge.
 *
 * @throws JudgeError `usage` for a checkpoint without encoder, or an unknown name; what starting the judge throws
 */
export async function withChosenJudge<T>(
  config: Config,
  { judge, checkpoint, encoder }: JudgeChoice,
  work: (judge: Judge) => Promise<T>,
): Promise<T> {
  if (checkpoint === undefined) return await withNamedJudge(config, judge, work);
  if (encoder === undefined) {
    throw new JudgeError(
      "usage",
      "--checkpoint needs --encoder: a folder with model.onnx, or a configured encoder",
    );
  }
  return await withCheckpoint(config, { checkpoint, encoder }, work);
}

/**
 * Runs `work` with the judge of that name; nothing else is loaded.
 *
 * @param name id or alias; undefined: default_judge, else the first
 * @throws JudgeError `usage` for an unknown name; what starting the judge throws
 */
export function withNamedJudge<T>(
  config: Config,
  name: string | undefined,
  work: (judge: Judge) => Promise<T>,
): Promise<T> {
  const wanted = name ?? config.defaultJudge ?? config.judges[0]!.id;
  const judge = config.judges.find(({ id, aliases }) => id === wanted || aliases.includes(wanted));
  if (judge === undefined) {
    const known = config.judges.map(({ id }) => id).join(", ");
    throw new JudgeError("usage", `--judge: no judge is named "${wanted}"; wanted one of ${known}`);
  }
  const encoders = config.encoders.filter(({ id }) => id === judge.encoder);
  return withJudges({ ...config, judges: [judge], encoders }, work);
}

/** Runs `work` with a checkpoint on an encoder, in the view that the checkpoint names. */
export async function withCheckpoint<T>(
  config: Config,
  pair: CheckpointOnEncoder,
  work: (judge: Judge) => Promise<T>,
): Promise<T> {
  const { head } = await loadCheckpoint(pair.checkpoint);
  const encoder = encoderConfig(config, pair.encoder);
  const judge = {
    id: "checkpoint",
    checkpoint: resolve(pair.checkpoint),
    encoder: encoder.id,
    output: head.outputNames[0]!,
    aliases: [],
    primaryRule: "SUP-4",
    maxTokens: null,
    truncation: null,
    message: null,
    calibration: "on",
    acceptEncoder: null,
    escalation: "stay",
    custom: null,
  } as const;
  return await withJudges({ ...config, judges: [judge], encoders: [encoder] }, work);
}

/** The configured encoder of that id, else the folder as one whose model has no known name. */
export function encoderConfig(config: Config, encoder: string): EncoderConfig {
  const configured = config.encoders.find(({ id }) => id === encoder);
  return configured ?? { id: "encoder", type: "onnx", path: resolve(encoder), model: null };
}

async function withJudges<T>(config: Config, work: (judge: Judge) => Promise<T>): Promise<T> {
  const observers = { log: createLog({ write() {} }, "silent"), metrics: createMetrics() };
  const runtime = { ...config.runtime, deadlineMs: noDeadlineMs };
  const judges = await composeJudges({ ...config, runtime, defaultJudge: null }, observers);
  try {
    await judges.start();
    return await work(judges.registry.judges[0]!);
  } finally {
    await judges.close();
  }
}
