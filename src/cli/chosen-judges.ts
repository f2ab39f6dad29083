// The judges of a command: one of the configuration by its name, or checkpoints on an encoder.
import { type Checkpoint, loadCheckpoint } from "../checkpoint/load.js";
import { type Config, judgeConfig } from "../config/config.js";
import type { EncoderConfig, JudgeConfig } from "../config/schema.js";
import { wholePath } from "../config/whole-path.js";
import { JudgeError } from "../errors.js";
import type { Judge } from "../judge/judge-parts.js";
import type { Envelope } from "../prompt/envelope.js";
import { takenOff } from "../server/compose-judge.js";
import { composeJudges } from "../server/judges.js";
import { silentObservers } from "../server/observers.js";

/** Commands wait as long as it takes. */
const noDeadlineMs = 3_600_000;

export interface CheckpointOnEncoder {
  readonly checkpoint: string;
  /** encoder folder, or the id of a configured encoder */
  readonly encoder: string;
  /** a name of the encoder's model that is as good as the checkpoint's own */
  readonly acceptEncoder?: string | undefined;
  /** the checkpoint, where it was read already */
  readonly loaded?: Checkpoint | undefined;
}

/** The options of a command that takes either. */
export interface JudgeChoice {
  /** id or alias of a configured judge; used where no checkpoint is given */
  readonly judge?: string | undefined;
  readonly checkpoint?: string | undefined;
  /** encoder folder or configured encoder; needed with a checkpoint */
  readonly encoder?: string | undefined;
  /** as in CheckpointOnEncoder */
  readonly acceptEncoder?: string | undefined;
  /** further checkpoints on `encoder`, else on that of the judge */
  readonly others?: readonly string[] | undefined;
}

/** What a judge is made from. */
interface Setting {
  readonly judge: JudgeConfig;
  readonly encoder: EncoderConfig;
  /** null: not read yet */
  readonly checkpoint: Checkpoint | null;
}

/**
 * Runs `work` with the checkpoint, else the configured judge, and with the others, on one encoder each.
 * @throws JudgeError `usage` for a checkpoint without encoder, or an unknown name; what starting the judges
 *   throws
 */
export async function withChosenJudge<T>(
  config: Config,
  choice: JudgeChoice,
  work: (judge: Judge, ...others: Judge[]) => Promise<T>,
): Promise<T> {
  const chosen = await chosenSetting(config, choice);
  const encoder = choice.encoder === undefined ? chosen.encoder : encoderConfig(config, choice.encoder);
  const others = (choice.others ?? []).map((path, index) => {
    return checkpointSetting(`against ${index + 1}`, path, { encoder, acceptEncoder: choice.acceptEncoder });
  });
  // a measure is of every row, whatever is served of it
  const measured = { ...chosen, judge: { ...chosen.judge, onTruncation: "judge" as const } };
  const settings = [measured, ...(await Promise.all(others))];
  return await withJudges(config, settings, ([judge, ...rest]) => work(judge!, ...rest));
}

/**
 * Runs `work` with the judge of that name; nothing else is loaded.
 * @param name id or alias; undefined: default_judge, else the first
 * @throws JudgeError `usage` for an unknown name; what starting the judge throws
 */
export function withNamedJudge<T>(
  config: Config,
  name: string | undefined,
  work: (judge: Judge) => Promise<T>,
): Promise<T> {
  return withJudges(config, [namedSetting(config, name)], ([judge]) => work(judge!));
}

/** Runs `work` with a checkpoint on an encoder, in the view that the checkpoint names. */
export async function withCheckpoint<T>(
  config: Config,
  { checkpoint, encoder, acceptEncoder, loaded }: CheckpointOnEncoder,
  work: (judge: Judge) => Promise<T>,
): Promise<T> {
  const on = { encoder: encoderConfig(config, encoder), acceptEncoder, loaded };
  const setting = await checkpointSetting("checkpoint", checkpoint, on);
  return await withJudges(config, [setting], ([judge]) => work(judge!));
}

/** What the chosen judge takes off its texts. Labels are read the same way, before the judge starts. */
export async function chosenEnvelopes(config: Config, choice: JudgeChoice): Promise<readonly Envelope[]> {
  const { judge, checkpoint } = await chosenSetting(config, choice);
  return takenOff(config, judge, checkpoint ?? (await loadCheckpoint(judge.checkpoint)));
}

/** The configured encoder of that id, else the folder as one whose model has no known name. */
export function encoderConfig(config: Config, encoder: string): EncoderConfig {
  const configured = config.encoders.find(({ id }) => id === encoder);
  return configured ?? { id: encoder, type: "onnx", path: wholePath(".", encoder, "--encoder"), model: null };
}

async function chosenSetting(
  config: Config,
  { judge, checkpoint, encoder, acceptEncoder }: JudgeChoice,
): Promise<Setting> {
  if (checkpoint === undefined) return namedSetting(config, judge);
  if (encoder === undefined) {
    throw new JudgeError("usage", {
      found: "--checkpoint needs --encoder: a folder with model.onnx, or a configured encoder",
    });
  }
  return await checkpointSetting("checkpoint", checkpoint, {
    encoder: encoderConfig(config, encoder),
    acceptEncoder,
  });
}

/** @throws JudgeError `usage` where no judge has that id or alias */
export function configuredJudge({ judges }: Config, name: string): JudgeConfig {
  const judge = judges.find(({ id, aliases }) => id === name || aliases.includes(name));
  if (judge !== undefined) return judge;
  const known = judges.map(({ id }) => id).join(", ");
  throw new JudgeError("usage", {
    found: `--judge: no judge is named "${name}"`,
    remedy: `wanted one of ${known}`,
  });
}

function namedSetting(config: Config, name: string | undefined): Setting {
  const judge = configuredJudge(config, name ?? config.defaultJudge ?? config.judges[0]!.id);
  return { judge, encoder: config.encoders.find(({ id }) => id === judge.encoder)!, checkpoint: null };
}

/** What a checkpoint is put on. */
interface On extends Pick<CheckpointOnEncoder, "acceptEncoder" | "loaded"> {
  readonly encoder: EncoderConfig;
}

/** The checkpoint's first output is p_solve; commands read the others by name. */
async function checkpointSetting(id: string, path: string, { encoder, ...on }: On): Promise<Setting> {
  const checkpoint = on.loaded ?? (await loadCheckpoint(path));
  const judge = judgeConfig(id, {
    checkpoint: wholePath(".", path, "checkpoint"),
    encoder: encoder.id,
    output: checkpoint.head.outputNames[0]!,
    ...(on.acceptEncoder !== undefined && { accept_encoder: on.acceptEncoder }),
  });
  return { judge, encoder, checkpoint };
}

/** A command asks for as much as it can use, and waits as long as it takes. */
export function commandRuntime({ runtime }: Config): Config["runtime"] {
  const batches = { ...runtime.batches, queueLimit: Number.POSITIVE_INFINITY };
  return { ...runtime, batches, deadlineMs: noDeadlineMs };
}

/** @param settings encoders of the same id are the same */
async function withJudges<T>(
  config: Config,
  settings: readonly Setting[],
  work: (judges: readonly Judge[]) => Promise<T>,
): Promise<T> {
  const composed: Config = {
    ...config,
    defaultJudge: null,
    runtime: commandRuntime(config),
    judges: settings.map(({ judge }) => judge),
    encoders: [...new Map(settings.map(({ encoder }) => [encoder.id, encoder])).values()],
  };
  const loaded = new Map(
    settings.flatMap(({ judge, checkpoint }) =>
      checkpoint === null ? [] : [[judge.id, checkpoint] as const],
    ),
  );
  const judges = await composeJudges(composed, silentObservers(), { loaded });
  try {
    await judges.start();
    return await work(judges.registry.judges);
  } finally {
    await judges.close();
  }
}
