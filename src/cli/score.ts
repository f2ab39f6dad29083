// `score`: judges one prompt, or the prompts of a JSON-lines file, without a server.
import { SingleBar } from "cli-progress";
import * as z from "zod";
import { composeJudges } from "../compose.js";
import { readCruxSentences } from "../compose-app.js";
import type { Config } from "../config.js";
import { JudgeError } from "../errors.js";
import { renderContent } from "../http/content.js";
import { toResult } from "../http/score-route.js";
import type { Judge } from "../judge/judge.js";
import { scoreBatches } from "../judge/score.js";
import { createLog } from "../observe/log.js";
import { createMetrics } from "../observe/metrics.js";
import { readableText } from "../prompt/judged-text.js";
import type { CruxSentences } from "../verdict/crux.js";
import { readJsonLines } from "./json-lines.js";
import type { Terminal } from "./terminal.js";

export interface ScoreOptions {
  /** the prompt itself; absent: standard input */
  readonly prompt?: string | undefined;
  /** JSON lines, each an object with a string `prompt` */
  readonly file?: string | undefined;
  /** id or alias; absent: default_judge, else the first */
  readonly judge?: string | undefined;
}

/** Scoring on the command line waits as long as it takes. */
const noDeadlineMs = 3_600_000;

/** @throws JudgeError `usage`, `config`, `checkpoint`, `encoder` */
export async function score(config: Config, options: ScoreOptions, terminal: Terminal): Promise<void> {
  const { file, prompt } = options;
  if (file !== undefined && prompt !== undefined)
    throw new JudgeError("usage", "found both a prompt and --file; give one of them");
  if (file === undefined && prompt === undefined && terminal.inputIsTerminal) {
    throw new JudgeError(
      "usage",
      'nothing to score; give a prompt: prefill-judge score "PROMPT", or --file prompts.jsonl',
    );
  }
  const rows =
    file === undefined ? null : await readJsonLines(file, Row, 'a JSON object with a string "prompt"');
  const judges = await composeJudges(onlyJudge(config, options.judge), {
    log: createLog({ write() {} }, "silent"),
    metrics: createMetrics(),
  });
  try {
    await judges.start();
    const judge = judges.registry.judges[0]!;
    if (rows !== null) await scoreRows(judge, rows, terminal);
    else
      terminal.print(
        await scoreOne(
          judge,
          prompt ?? (await terminal.readInput()),
          await readCruxSentences(terminal.packageRoot),
        ),
      );
  } finally {
    await judges.close();
  }
}

/** The configuration with one judge and its encoder, so that nothing else is loaded. */
function onlyJudge(config: Config, name: string | undefined): Config {
  const wanted = name ?? config.defaultJudge ?? config.judges[0]!.id;
  const judge = config.judges.find(({ id, aliases }) => id === wanted || aliases.includes(wanted));
  if (judge === undefined) {
    const known = config.judges.map(({ id }) => id).join(", ");
    throw new JudgeError("usage", `--judge: no judge is named "${wanted}"; wanted one of ${known}`);
  }
  return {
    ...config,
    defaultJudge: null,
    runtime: { ...config.runtime, deadlineMs: noDeadlineMs },
    judges: [judge],
    encoders: config.encoders.filter(({ id }) => id === judge.encoder),
  };
}

async function scoreOne(judge: Judge, prompt: string, sentences: CruxSentences): Promise<string> {
  const [judgement] = await judge.judge([readableText(prompt)]);
  return renderContent(sentences, judge, judgement!);
}

const Row = z.looseObject({ prompt: z.string() });
type Row = z.infer<typeof Row>;

/** One JSON line per row: its fields but for the prompt, then the result. */
async function scoreRows(judge: Judge, rows: readonly Row[], terminal: Terminal): Promise<void> {
  const bar = terminal.errorIsTerminal
    ? new SingleBar({
        stream: process.stderr,
        format: "scoring [{bar}] {value}/{total} prompts, {eta} s left",
      })
    : null;
  bar?.start(rows.length, 0);
  try {
    let next = 0;
    for await (const batch of scoreBatches(
      judge,
      rows.map((row) => readableText(row.prompt)),
    )) {
      for (const judgement of batch) {
        const { prompt: _, ...fields } = rows[next++]!;
        terminal.print(JSON.stringify({ ...fields, ...toResult(judgement) }));
      }
      bar?.update(next);
    }
  } finally {
    bar?.stop();
  }
}
