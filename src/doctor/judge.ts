// What `doctor` finds out about one judge: checkpoint, fit, selftest, time of a request.
import { loadCheckpoint } from "../checkpoint/load.js";
import type { Config } from "../config/config.js";
import type { EncoderConfig, JudgeConfig } from "../config/schema.js";
import type { Encoder } from "../encoder/encoder.js";
import { hashEncoderFolder } from "../encoder/folder.js";
import { faultObservation, type Observation, observation } from "../encoder/observation.js";
import type { View } from "../encoder/view.js";
import { asJudgeError } from "../errors.js";
import type { Judge } from "../judge/judge-parts.js";
import { checkReading, loweredWarning, missingLayers } from "../judge/prepare.js";
import { checkFiles } from "../judge/selftest.js";
import type { BuiltEncoder } from "../server/encoders.js";
import { composeJudges } from "../server/judges.js";
import { silentObservers } from "../server/observers.js";
import type { Labelling } from "./labelling.js";
import { sampleObservation } from "./sample.js";
import { examineSelftest } from "./selftest.js";
import { withoutOutermostPlace } from "./without-place.js";

type Checkpoint = Judge["checkpoint"];

/** The checks that need checkpoint and encoder. */
const onEncoder = ["view", "layers", "selftest", "sample"];

/** @param built the encoder, started; null where it does not run */
export async function examineJudge(
  config: Config,
  judge: JudgeConfig,
  encoderConfig: EncoderConfig,
  built: BuiltEncoder | null,
): Promise<Observation[]> {
  let checkpoint: Checkpoint;
  try {
    checkpoint = await loadCheckpoint(judge.checkpoint);
  } catch (error) {
    return [
      faultObservation("checkpoint", withoutOutermostPlace(error)),
      ...skipped(onEncoder, "the checkpoint cannot be read"),
    ];
  }
  const encoderFiles = async () => built?.encoder.facts.files ?? hashEncoderFolder(encoderConfig.path);
  const files =
    otherModel(judge, encoderConfig, checkpoint) ?? (await filesObservation(checkpoint, encoderFiles));
  const findings = [checkpointObservation(checkpoint), files];
  if (built === null) {
    return [...findings, ...skipped(onEncoder, `encoder ${encoderConfig.id} does not run`)];
  }
  let composed: Judge;
  let view: View;
  try {
    composed = await composeOne(config, judge, checkpoint, built);
    view = composed.view();
    await checkReading(composed, view);
  } catch (error) {
    const [, ...rest] = onEncoder;
    return [
      ...findings,
      faultObservation("view", asJudgeError(error)),
      ...skipped(rest, "the judge does not start"),
    ];
  }
  findings.push(viewObservation(view, composed));
  findings.push(...(await examineSelftest({ judge: composed, view, labelling: labellingOf(encoderConfig) })));
  const sample =
    missingLayers(composed).length === 0
      ? await sampleObservation(composed, view, config.runtime.deadlineMs)
      : observation("sample", "skipped", { found: "the encoder does not give the layers" });
  return [...findings, sample];
}

/** How the configuration names the rows of a server; an encoder that runs here names its own. */
function labellingOf(encoder: EncoderConfig): Labelling | null {
  return encoder.type === "vllm" ? encoder : null;
}

function skipped(checks: readonly string[], why: string): Observation[] {
  return checks.map((check) => observation(check, "skipped", { found: why }));
}

function checkpointObservation({ format, hash, head, path }: Checkpoint): Observation {
  const outputs = head.outputNames;
  const found = `${format}, ${hash}, ${outputs.length} output${outputs.length === 1 ? "" : "s"}`;
  return observation("checkpoint", "ok", { found, values: { path, format, hash, outputs } });
}

/** Of another model nothing is damaged: `view` says what to do. null where it is the one, or has no name. */
function otherModel(
  { acceptEncoder }: JudgeConfig,
  { model }: EncoderConfig,
  { encoderName }: Checkpoint,
): Observation | null {
  if (model === null || model === encoderName || model === acceptEncoder) return null;
  return observation("files", "skipped", { found: `the encoder is ${model}, not ${encoderName}` });
}

/** Of checkpoint and encoder, as far as the checkpoint says which it was made with. */
async function filesObservation(
  checkpoint: Checkpoint,
  encoderFiles: () => Promise<Encoder["facts"]["files"]>,
): Promise<Observation> {
  try {
    checkFiles(checkpoint, await encoderFiles());
  } catch (error) {
    return faultObservation("files", asJudgeError(error));
  }
  const names = new Set([
    ...Object.keys(checkpoint.selftest?.files ?? {}),
    ...Object.keys(checkpoint.encoderFiles).map((name) => `encoder/${name}`),
  ]);
  const values = { files: [...names].sort() };
  if (names.size > 0) {
    return observation("files", "ok", {
      found: `${names.size} with the SHA-256 they had when it was made`,
      values,
    });
  }
  const advice =
    "a file that was replaced would not be noticed; train writes checkpoints that know their files";
  return observation("files", "warning", {
    found: "the checkpoint knows no SHA-256 of its encoder's files",
    advice,
    values,
  });
}

/** The judge on its encoder, with nobody told of it. */
async function composeOne(
  config: Config,
  judge: JudgeConfig,
  checkpoint: Checkpoint,
  built: BuiltEncoder,
): Promise<Judge> {
  const { runtime } = built;
  const alone: Config = {
    ...config,
    defaultJudge: null,
    runtime: { ...config.runtime, ...runtime },
    encoders: [built.config],
    judges: [judge],
  };
  const given = { running: [built], loaded: new Map([[judge.id, checkpoint]]) };
  const { registry } = await composeJudges(alone, silentObservers(), given);
  return registry.judges[0]!;
}

function viewObservation(view: View, judge: Judge): Observation {
  const { template, maxTokens, truncation } = view;
  const { encoder } = judge;
  const values = { template, max_tokens: maxTokens, encoder_max_tokens: encoder.facts.maxTokens, truncation };
  const found = `template ${template}, at most ${maxTokens} of the encoder's ${encoder.facts.maxTokens} tokens`;
  const lowered = loweredWarning(judge, view);
  if (lowered === null) return observation("view", "ok", { found, values });
  const advice = "train with --max-tokens of no more than that, or serve the model with a longer context";
  return observation("view", "warning", { found: `${found}; ${lowered}`, advice, values });
}
