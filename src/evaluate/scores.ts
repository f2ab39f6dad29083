// Recorded scores of another judge, as JSON lines with p_solve or probabilities by id.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { readJsonRows, wanted } from "../labels/json-rows.js";
import { refusedAt } from "../labels/label-record.js";
import type { LabelRow } from "../labels/label-row.js";

const number = wanted("a number from 0 to 1");
const probability = z.number(number).min(0, number).max(1, number);
const ScoreRow = z.looseObject({
  id: z.string(wanted("the id of a row, a string")),
  p_solve: probability.nullish(),
  probabilities: z
    .record(z.string(), probability.nullable(), wanted("an object of numbers by output"))
    .nullish(),
  /** the reason, where the judge could not judge: its p_solve of 0 is no score then */
  abstained: z.string(wanted("a string or null")).nullish(),
});
type ScoreRow = z.infer<typeof ScoreRow>;

/**
 * By output, [rows] each, NaN where nothing is recorded; null for an output without any.
 * @param pSolveOutput the output that a bare p_solve is about
 * @throws JudgeError `usage` naming row, line and field of the first fault, and where no row has a score
 */
export function parseScores(
  content: string,
  { rows, outputNames }: { rows: readonly LabelRow[]; outputNames: readonly string[] },
  pSolveOutput: number,
): (Float64Array | null)[] {
  const places = new Map(rows.map(({ id }, index) => [id, index]));
  const byOutput = outputNames.map(() => new Float64Array(rows.length).fill(Number.NaN));
  const seen = new Set<string>();
  for (const { place, value } of readJsonRows(content, ScoreRow, "a JSON object with id and p_solve")) {
    if (seen.has(value.id))
      throw refusedAt(place, "field id", {
        found: "found an earlier row's id",
        remedy: "give each row one score",
      });
    seen.add(value.id);
    const row = places.get(value.id);
    if (row === undefined) continue;
    outputNames.forEach((name, output) => {
      byOutput[output]![row] = recorded(value, name, output === pSolveOutput) ?? Number.NaN;
    });
  }
  if (byOutput.every((values) => values.every(Number.isNaN))) {
    throw new JudgeError("usage", {
      found: `none of the ${rows.length} rows to evaluate has one of the ${seen.size} scores`,
      remedy: "give scores the ids of the label file",
    });
  }
  return byOutput.map((values) => (values.every(Number.isNaN) ? null : values));
}

/** The output's own probability before the bare p_solve. */
function recorded(row: ScoreRow, output: string, isPSolve: boolean): number | null {
  const { p_solve: pSolve, probabilities, abstained } = row;
  if (abstained != null) return null;
  const own = probabilities != null && Object.hasOwn(probabilities, output) ? probabilities[output]! : null;
  return own ?? (isPSolve ? (pSolve ?? null) : null);
}
