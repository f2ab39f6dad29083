// One judge out of its table, its checkpoint and its encoder. Names no concrete adapter.
import { performance } from "node:perf_hooks";
import { fitCustomVerdict } from "../answer/custom.js";
import type { VerdictSettings } from "../answer/verdict-settings.js";
import type { Checkpoint } from "../checkpoint/load.js";
import type { Config } from "../config/config.js";
import type { JudgeConfig } from "../config/schema.js";
import { JudgeError, withoutPaths } from "../errors.js";
import { createJudge } from "../judge/judge.js";
import type { Judge, JudgeParts } from "../judge/judge-parts.js";
import { loweredWarning } from "../judge/prepare.js";
import type { Log } from "../observe/log.js";
import type { Envelope } from "../prompt/envelope.js";

export const clock = () => performance.now();

export function composeJudge(
  config: JudgeConfig,
  checkpoint: Checkpoint,
  parts: Pick<JudgeParts, "encoder" | "sharedRuns" | "cache">,
  all: Config,
  log: Log,
): Judge {
  const { runtime } = all;
  return createJudge({
    ...config,
    ...parts,
    checkpoint,
    output: chooseOutput(config, checkpoint),
    envelopes: takenOff(all, config, checkpoint),
    message: config.message ?? checkpoint.message,
    deadlineMs: runtime.deadlineMs,
    clock,
    onFault({ code, message, cause }) {
      const fault = cause instanceof Error ? cause.name : null;
      log.fault({ judge: config.id, code, reason: withoutPaths(message), fault });
    },
    onHealth(fault) {
      if (fault === null) log.judgeAnswers({ judge: config.id });
      else log.judgeSilent({ judge: config.id, code: fault.code, reason: withoutPaths(fault.message) });
    },
  });
}

/** @throws JudgeError `config` where the custom table does not fit the checkpoint */
export function verdictSettings(
  { id, primaryRule, escalation, custom }: JudgeConfig,
  { head, costs }: Checkpoint,
): VerdictSettings {
  const outputs = { names: head.outputNames, costs };
  const fitted = custom && fitCustomVerdict(`judges.${id}.custom`, custom, outputs);
  return { primaryRule, escalation, custom: fitted };
}

/** What a judge takes off its texts. A checkpoint that does not say was trained on texts as they came. */
export function takenOff(
  { envelopes, ownEnvelopes }: Pick<Config, "envelopes" | "ownEnvelopes">,
  judge: Pick<JudgeConfig, "envelopes">,
  { view }: Pick<Checkpoint, "view">,
): readonly Envelope[] {
  if ((judge.envelopes ?? view?.envelopes ?? "keep") === "keep") return [];
  return [...envelopes, ...(view?.own_envelopes ?? []), ...ownEnvelopes];
}

function chooseOutput({ id, output }: JudgeConfig, { head, path }: Checkpoint): string {
  const names = head.outputNames;
  if (output === null && names.length === 1) return names[0]!;
  if (output !== null && names.includes(output)) return output;
  const found = output === null ? "is missing" : `"${output}" is not an output of checkpoint ${path}`;
  const known = names.map((name) => `"${name}"`).join(", ");
  throw new JudgeError("config", { found: `judges.${id}.output ${found}`, remedy: `wanted one of ${known}` });
}

export function logReady(judge: Judge, readyMs: number, log: Log): void {
  const { id, checkpoint, encoder } = judge;
  const selftestPrompts = checkpoint.selftest?.prompts.length ?? 0;
  log.judgeReady({ judge: id, checkpoint: checkpoint.hash, encoder: encoder.id, selftestPrompts, readyMs });
  const finding = loweredWarning(judge, judge.view());
  if (finding !== null) log.judgeWarning({ judge: id, finding });
}
