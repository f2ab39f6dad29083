// `doctor`: looks at everything a judge needs, one thing after the other, and says what to change. What fails stops only
// what needs it; a configuration that cannot be read is an error as for every command.

import { commandRuntime, configuredJudge } from "../cli/chosen-judges.js";
import type { Terminal } from "../cli/terminal.js";
import type { Config, EncoderConfig } from "../config/config.js";
import type { Encoder } from "../encoder/encoder.js";
import { limitWarning } from "../encoder/limit-warning.js";
import { asJudgeError } from "../errors.js";
import { composeEncoder, type EncoderRuntime, encoderRuntime, examineEncoder } from "../server/encoders.js";
import { type Finding, faultFinding, finding } from "./finding.js";
import { examineJudge } from "./judge.js";
import { examineProcess, threadsText } from "./process.js";
import { type Section, sectionText, summaryText, toJson } from "./report.js";
import { list } from "./text.js";

export interface DoctorOptions {
  /** id or alias of the only judge to look at; absent: all */
  readonly judge?: string | undefined;
  readonly json: boolean;
}

/**
 * @returns true where nothing is wrong; warnings count as nothing
 * @throws JudgeError `usage` for an unknown judge
 */
export async function doctor(config: Config, options: DoctorOptions, terminal: Terminal): Promise<boolean> {
  const chosen = options.judge === undefined ? config.judges : [configuredJudge(config, options.judge)];
  const sections: Section[] = [];
  const add = (section: Section) => {
    sections.push(section);
    if (!options.json) terminal.print(sectionText(section));
  };
  add({ subject: "process", id: null, findings: await examineProcess(config, terminal) });
  const runtime = encoderRuntime(commandRuntime(config));
  for (const encoderConfig of config.encoders) {
    const judges = chosen.filter(({ encoder }) => encoder === encoderConfig.id);
    if (judges.length === 0) continue;
    const { encoder, findings } = await startEncoder(encoderConfig, runtime);
    try {
      add({ subject: "encoder", id: encoderConfig.id, findings });
      for (const judge of judges) {
        const built = encoder && { encoder, config: encoderConfig, runtime };
        add({
          subject: "judge",
          id: judge.id,
          findings: await examineJudge(config, judge, encoderConfig, built),
        });
      }
    } finally {
      await encoder?.close();
    }
  }
  const isWell = sections.every(({ findings }) => findings.every(({ status }) => status !== "wrong"));
  terminal.print(options.json ? toJson(sections, terminal.version) : summaryText(sections));
  return isWell;
}

/** The encoder, started; null where it does not start. */
async function startEncoder(
  config: EncoderConfig,
  runtime: EncoderRuntime,
): Promise<{ encoder: Encoder | null; findings: Finding[] }> {
  const findings = [...(await examineEncoder(config, runtime))];
  // one server of several is enough
  const isReachable = config.type === "onnx" || findings.some(isPrefill);
  if (!isReachable) {
    findings.push(finding("model", "skipped", "no hidden states come from any server"));
    return { encoder: null, findings };
  }
  const encoder = composeEncoder(config, runtime);
  const started = performance.now();
  try {
    await encoder.start();
    findings.push(modelFinding(encoder, performance.now() - started));
    return { encoder, findings };
  } catch (error) {
    await encoder.close();
    const message = asJudgeError(error).message.replace(`encoder ${config.id}: `, "");
    return { encoder: null, findings: [...findings, faultFinding("model", message)] };
  }
}

function isPrefill({ check, status, values }: Finding): boolean {
  return check === "hidden-states" && (status === "ok" || values.milliseconds !== undefined);
}

function modelFinding({ facts }: Encoder, startMs: number): Finding {
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
  if (limit === null) return finding("model", "ok", found, null, values);
  const advice = `longer texts are cut to ${maxTokens} tokens; write that into tokenizer_config.json as model_max_length`;
  return finding("model", "warning", `${found}; ${limit}`, advice, values);
}
