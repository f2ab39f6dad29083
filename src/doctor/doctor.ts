// Looks at everything that judges need, and says what to change. A fault stops only what needs it.

import type { Config } from "../config/config.js";
import type { EncoderConfig, JudgeConfig } from "../config/schema.js";
import type { Encoder } from "../encoder/encoder.js";
import { limitWarning } from "../encoder/limit-warning.js";
import { faultObservation, type Observation, observation } from "../encoder/observation.js";
import { composeEncoder, type EncoderRuntime, examineEncoder } from "../server/encoders.js";
import { startEncoder } from "../server/load-step.js";
import { examineJudge } from "./judge.js";
import { examineProcess, type ProcessFacts, threadsText } from "./process.js";
import { list } from "./text.js";
import { withoutOutermostPlace } from "./without-place.js";

/** One thing that was looked at. */
export interface Examined {
  readonly subject: "process" | "encoder" | "judge";
  /** null for the process */
  readonly id: string | null;
  readonly findings: readonly Observation[];
}

export interface Examination {
  /** those of the configuration that are looked at, with the encoders they need */
  readonly judges: readonly JudgeConfig[];
  /** how the encoders run meanwhile */
  readonly runtime: EncoderRuntime;
  readonly facts: ProcessFacts;
}

export async function* examine(
  config: Config,
  { judges, runtime, facts }: Examination,
): AsyncGenerator<Examined> {
  yield { subject: "process", id: null, findings: examineProcess(config, facts) };
  for (const encoderConfig of config.encoders) {
    const users = judges.filter(({ encoder }) => encoder === encoderConfig.id);
    // one that no judge uses yet is looked at, too, unless one judge is asked for
    const isWanted = judges.length === config.judges.length && config.ownEncoders.includes(encoderConfig.id);
    if (users.length === 0 && !isWanted) continue;
    const { encoder, findings } = await startExamined(encoderConfig, runtime, config.runtime.loadTimeoutMs);
    try {
      yield { subject: "encoder", id: encoderConfig.id, findings };
      for (const judge of users) {
        const built = encoder && { encoder, config: encoderConfig, runtime };
        const found = await examineJudge(config, judge, encoderConfig, built);
        yield { subject: "judge", id: judge.id, findings: found };
      }
    } finally {
      await encoder?.close();
    }
  }
}

/** The encoder, started; null where it does not start. */
async function startExamined(
  config: EncoderConfig,
  runtime: EncoderRuntime,
  timeoutMs: number,
): Promise<{ encoder: Encoder | null; findings: Observation[] }> {
  const findings = [...(await examineEncoder(config, runtime))];
  // one server of several is enough
  const isReachable = config.type === "onnx" || findings.some(isPrefill);
  if (!isReachable) {
    findings.push(observation("model", "skipped", { found: "no hidden states come from any server" }));
    return { encoder: null, findings };
  }
  const encoder = composeEncoder(config, runtime);
  const started = performance.now();
  try {
    await startEncoder(encoder, { timeoutMs });
    findings.push(modelObservation(encoder, performance.now() - started));
    return { encoder, findings };
  } catch (error) {
    await encoder.close();
    findings.push(faultObservation("model", withoutOutermostPlace(error)));
    return { encoder: null, findings };
  }
}

function isPrefill({ check, status, values }: Observation): boolean {
  return check === "hidden-states" && (status === "ok" || values.milliseconds !== undefined);
}

function modelObservation({ facts }: Encoder, startMs: number): Observation {
  const { hiddenSize, layers, maxTokens, device, threads, processes, runtime = null } = facts;
  const values = {
    device,
    runtime,
    threads: runtime === null ? null : threads,
    processes: runtime === null ? null : processes,
    hidden_size: hiddenSize,
    layers,
    max_tokens: maxTokens,
    start_ms: startMs,
  };
  const gives = `hidden states ${list(layers)} of ${hiddenSize} values, at most ${maxTokens} tokens`;
  const started = `started in ${(startMs / 1000).toFixed(1)} s`;
  const found =
    runtime === null
      ? gives
      : `${runtime} on ${device}, ${threadsText(threads, processes)}; ${gives}; ${started}`;
  const limit = limitWarning(facts);
  if (limit === null) return observation("model", "ok", { found, values });
  const advice = `longer texts are cut to ${maxTokens} tokens; write that into tokenizer_config.json as model_max_length`;
  return observation("model", "warning", { found: `${found}; ${limit}`, advice, values });
}
