// What `doctor` finds out about one judge: its checkpoint, whether that fits the encoder and computes there what it
// should, and how long a request takes.
import { loadCheckpoint } from "../checkpoint/load.js";
import { silentObservers } from "../cli/chosen-judges.js";
import type { Config, EncoderConfig, JudgeConfig } from "../config/config.js";
import type { Encoder } from "../encoder/encoder.js";
import { hashEncoderFolder } from "../encoder/folder.js";
import type { View } from "../encoder/view.js";
import { asJudgeError } from "../errors.js";
import type { Judge } from "../judge/judge-parts.js";
import { checkReading, missingLayers } from "../judge/prepare.js";
import { checkFiles } from "../judge/selftest.js";
import { type BuiltEncoder, composeJudges } from "../server/judges.js";
import { type Finding, faultFinding, finding } from "./finding.js";
import { sampleFinding } from "./sample.js";
import { examineSelftest } from "./selftest.js";

type Checkpoint = Judge["checkpoint"];

/** The checks that need checkpoint and encoder. */
const onEncoder = ["view", "layers", "selftest", "sample"];

/** @param built the encoder, started; null where it does not run */
export async function examineJudge(
  config: Config,
  judge: JudgeConfig,
  encoderConfig: EncoderConfig,
  built: BuiltEncoder | null,
): Promise<Finding[]> {
  const short = shortenerFor(judge);
  let checkpoint: Checkpoint;
  try {
    checkpoint = await loadCheckpoint(judge.checkpoint);
  } catch (error) {
    return [faultFinding("checkpoint", short(error)), ...skipped(onEncoder, "the checkpoint cannot be read")];
  }
  const encoderFiles = async () => built?.encoder.facts.files ?? hashEncoderFolder(encoderConfig.path);
  const findings = [checkpointFinding(checkpoint), await filesFinding(judge, checkpoint, encoderFiles)];
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
    return [...findings, faultFinding("view", short(error)), ...skipped(rest, "the judge does not start")];
  }
  findings.push(viewFinding(view, composed));
  findings.push(...(await examineSelftest(composed, view, short)));
  const sample =
    missingLayers(composed).length === 0
      ? await sampleFinding(composed, view, config.runtime.deadlineMs)
      : finding("sample", "skipped", "the encoder does not give the layers");
  return [...findings, sample];
}

function skipped(checks: readonly string[], why: string): Finding[] {
  return checks.map((check) => finding(check, "skipped", why));
}

/** An error's message without what the section's title says already. */
function shortenerFor({
  id,
  checkpoint,
}: Pick<JudgeConfig, "id" | "checkpoint">): (error: unknown) => string {
  return (error) =>
    asJudgeError(error)
      .message.replace(`judge ${id}: `, "")
      .replace(`checkpoint ${checkpoint}: `, "")
      .replace(`checkpoint ${checkpoint} `, "checkpoint ")
      .replace("selftest: ", "");
}

function checkpointFinding({ format, hash, head, path }: Checkpoint): Finding {
  const outputs = head.outputNames;
  const found = `${format}, ${hash}, ${outputs.length} output${outputs.length === 1 ? "" : "s"}`;
  return finding("checkpoint", "ok", found, null, { path, format, hash, outputs });
}

/** Of checkpoint and encoder, as far as the checkpoint says which it was made with. */
async function filesFinding(
  { id }: JudgeConfig,
  checkpoint: Checkpoint,
  encoderFiles: () => Promise<Encoder["facts"]["files"]>,
): Promise<Finding> {
  try {
    checkFiles({ id, checkpoint }, await encoderFiles());
  } catch (error) {
    return faultFinding("files", shortenerFor({ id, checkpoint: checkpoint.path })(error));
  }
  const names = new Set([
    ...Object.keys(checkpoint.selftest?.files ?? {}),
    ...Object.keys(checkpoint.encoderFiles).map((name) => `encoder/${name}`),
  ]);
  const values = { files: [...names].sort() };
  if (names.size > 0) {
    return finding("files", "ok", `${names.size} with the SHA-256 they had when it was made`, null, values);
  }
  const advice =
    "a file that was replaced would not be noticed; train writes checkpoints that know their files";
  return finding(
    "files",
    "warning",
    "the checkpoint knows no SHA-256 of its encoder's files",
    advice,
    values,
  );
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

function viewFinding({ template, maxTokens, truncation }: View, { encoder }: Judge): Finding {
  const values = { template, max_tokens: maxTokens, encoder_max_tokens: encoder.facts.maxTokens, truncation };
  const found = `template ${template}, at most ${maxTokens} of the encoder's ${encoder.facts.maxTokens} tokens`;
  return finding("view", "ok", found, null, values);
}
