// An evaluation report as text for a terminal; everything else of it is in --json.
import type { EvaluationReport, NamedFigures, OutputReport } from "../../evaluate/evaluate.js";
import type { MetricName, OutputFigures } from "../../evaluate/output-figures.js";
import { amount, difference, estimate, number, percent, share, table } from "../text-table.js";

const titles: readonly (readonly [MetricName, string])[] = [
  ["auc", "AUC"],
  ["withinGroupAuc", "AUC within groups"],
  ["brier", "Brier"],
  ["logLoss", "log loss"],
  ["ece", "ECE"],
  ["accuracy", "accuracy"],
  ["uncertainShare", "p in 0.4 to 0.6"],
];
/** Groups and sources with fewer rows say little; they are in --json. */
const minRows = 30;

export function renderReport(report: EvaluationReport): string {
  const { rows, records, distinctShare, judge, threshold } = report;
  const head = `${judge} on ${rows} rows (${records} records, ${percent(distinctShare)} distinct texts), threshold ${threshold}`;
  return [head, ...report.outputs.map(renderOutput), ...report.pools.map(renderPool)].join("\n\n");
}

function renderOutput({ output, all, thresholds, groups, sources }: OutputReport): string {
  const figures = titles.map(([metric, title]) => [
    title,
    estimate(all.judge[metric]),
    ...all.against.map(
      ({ figures, judgeMinus }) => `${number(figures[metric].value)} (${difference(judgeMinus[metric])})`,
    ),
  ]);
  const names = all.against.map(({ name }) => `${name} (judge minus it)`);
  const points = thresholds[0]?.points ?? [];
  return [
    `${output}: ${all.rows} labelled rows${all.answers === all.rows ? "" : ` with ${all.answers} answers`}, ${percent(all.solvedShare)} solved`,
    table([["", "judge", ...names], ...figures, agreementRow(all)]),
    table([
      ["threshold", "weak share", "error share", "weak accuracy"],
      ...points
        .filter((_, index) => index % 2 === 1)
        .map((point) => [
          point.threshold.toFixed(2),
          share(point.weakShare),
          share(point.errorShare),
          share(point.weakAccuracy),
        ]),
    ]),
    ...[groups, sources].flatMap((sections) => renderSections(sections)),
  ].join("\n\n");
}

function agreementRow({ against }: OutputFigures): string[] {
  return ["same decision", "", ...against.map(({ agreement }) => estimate(agreement))];
}

function renderSections(sections: readonly NamedFigures[]): string[] {
  const shown = sections.filter(({ rows }) => rows >= minRows);
  if (shown.length < 2) return [];
  const lines = shown.map(({ name, rows, solvedShare, judge }) => [
    name ?? "(none)",
    String(rows),
    percent(solvedShare),
    estimate(judge.auc),
    estimate(judge.ece),
  ]);
  return [table([["part", "rows", "solved", "AUC", "ECE"], ...lines])];
}

function renderPool({
  name,
  rows,
  oracle,
  bestSingle,
  curve,
  outputs,
}: EvaluationReport["pools"][number]): string {
  const best = outputs.find(({ output }) => output === bestSingle)!;
  const lines = curve.map((point) => [
    point.tolerance.toFixed(2),
    estimate(point.solvedShare),
    difference(point.minusBestSingle),
    point.meanCost?.value == null ? "" : amount(point.meanCost.value),
    ...point.shares.map(percent),
  ]);
  return [
    `pool by ${name}, ${rows} rows: oracle ${estimate(oracle.solvedShare)}, best single ${bestSingle} ${estimate(best.solvedShare)}`,
    table([
      ["tolerance", "solved", "minus best single", "cost", ...outputs.map(({ output }) => output)],
      ...lines,
    ]),
  ].join("\n");
}
