// `score`: judges one prompt, or the prompts of a JSON-lines file, without a server.
import * as z from "zod";
import { scoreResult } from "../../answer/answer-facts.js";
import { capabilityText } from "../../answer/verdict.js";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import type { Judge } from "../../judge/judge-parts.js";
import { readJsonLines } from "../../labels/json-lines.js";
import { wanted } from "../../labels/json-rows.js";
import { promptText } from "../../prompt/judged-text.js";
import { readCruxSentences } from "../../server/application.js";
import { configuredJudge, withNamedJudge } from "../chosen-judges.js";
import { scoreWithProgress } from "../score-rows.js";
import type { Terminal } from "../terminal.js";

export interface ScoreOptions {
  /** the prompt itself; absent: standard input */
  readonly prompt?: string | undefined;
  /** JSON lines, each an object with a string `prompt` */
  readonly file?: string | undefined;
  /** id or alias; absent: default_judge, else the first */
  readonly judge?: string | undefined;
}

const Row = z.looseObject({ prompt: z.string(wanted("a string")) });
type Row = z.infer<typeof Row>;

/** @throws JudgeError `usage`, `config`, `checkpoint`, `encoder` */
export async function score(config: Config, options: ScoreOptions, terminal: Terminal): Promise<void> {
  const { file, prompt } = options;
  if (file !== undefined && prompt !== undefined) {
    throw new JudgeError("usage", { found: "found both a prompt and --file", remedy: "give one of them" });
  }
  if (file === undefined && prompt === undefined && terminal.inputIsTerminal) {
    throw new JudgeError("usage", {
      found: "nothing to score",
      remedy: 'give a prompt: prefill-judge score "PROMPT", or --file prompts.jsonl',
    });
  }
  const rows =
    file === undefined ? null : await readJsonLines(file, Row, 'a JSON object with a string "prompt"');
  await withNamedJudge(config, options.judge, async (judge) => {
    if (rows !== null) await scoreRows(judge, rows, terminal);
    else {
      const text = prompt ?? (await terminal.readInput()).replace(/\r?\n$/, "");
      const [judgement] = await judge.judge([promptText(text, judge.envelopes).text]);
      const sentences = await readCruxSentences(terminal.packageRoot);
      const { primaryRule } = configuredJudge(config, judge.id);
      terminal.print(capabilityText(sentences, { judge, judgement: judgement!, primaryRule }));
    }
  });
}

/** One JSON line per row: its fields but for the prompt, then the result. */
async function scoreRows(judge: Judge, rows: readonly Row[], terminal: Terminal): Promise<void> {
  let next = 0;
  const prompts = rows.map((row) => promptText(row.prompt, judge.envelopes));
  const texts = prompts.map(({ text }) => text);
  for await (const batch of scoreWithProgress(judge, texts, terminal)) {
    for (const judgement of batch) {
      const { prompt: _, ...fields } = rows[next]!;
      terminal.print(JSON.stringify({ ...fields, ...scoreResult(judgement, prompts[next]!.envelopes) }));
      next++;
    }
  }
}
