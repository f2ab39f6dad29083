// What a judge must beat: a constant, the group's base rate, TF-IDF with logistic regression.

import type { LabelRow } from "../labels/label-row.js";
import { labelWeight } from "../labels/label-row.js";
import { fitLogistic, predictLogistic } from "./fit/logistic.js";
import { sparseDesign } from "./numeric/design.js";
import { applyTfidf, fitTfidf } from "./tfidf.js";

export type FloorName = "constant" | "group base rate" | "TF-IDF";

export interface Floor {
  readonly name: FloorName;
  /** probabilities by output, [rows] each */
  predict(rows: readonly LabelRow[]): Float64Array[];
}

/** @param rows the judge's training rows; null labels are left out, weights count */
export function fitFloors(rows: readonly LabelRow[], outputCount: number): Floor[] {
  return [fitConstant(rows, outputCount), fitGroupRate(rows, outputCount), fitText(rows, outputCount)];
}

/** The share of the answers to the training rows that solve them. */
export function fitConstant(rows: readonly LabelRow[], outputCount: number): Floor {
  const rates = outputsOf(outputCount).map((output) => solvedRate(rows, output) ?? 0.5);
  return {
    name: "constant",
    predict: (asked) => rates.map((rate) => new Float64Array(asked.length).fill(rate)),
  };
}

/** The solved share of the group's training rows; the overall share for a group that is unknown. */
export function fitGroupRate(rows: readonly LabelRow[], outputCount: number): Floor {
  const groups = new Map<string | null, LabelRow[]>();
  for (const row of rows) {
    const members = groups.get(row.group);
    if (members === undefined) groups.set(row.group, [row]);
    else members.push(row);
  }
  const outputs = outputsOf(outputCount).map((output) => ({
    overall: solvedRate(rows, output) ?? 0.5,
    rates: new Map([...groups].map(([group, members]) => [group, solvedRate(members, output)])),
  }));
  return {
    name: "group base rate",
    predict: (asked) =>
      outputs.map(({ overall, rates }) =>
        Float64Array.from(asked, ({ group }) => rates.get(group) ?? overall),
      ),
  };
}

/** Logistic regression on character n-grams; the constant for an output with one class. */
export function fitText(rows: readonly LabelRow[], outputCount: number): Floor {
  const texts = rows.map(({ text }) => text);
  const tfidf = fitTfidf(texts);
  const design = sparseDesign(applyTfidf(tfidf, texts));
  const models = outputsOf(outputCount).map((output) => {
    const rate = solvedRate(rows, output) ?? 0.5;
    if (rate === 0 || rate === 1 || rows.every(({ labels }) => labels[output] === null)) return rate;
    const solved = Float64Array.from(rows, ({ labels }) => labels[output] ?? 0);
    const sampleWeight = Float64Array.from(rows, (row) => labelWeight(row, output));
    return fitLogistic(design, solved, { sampleWeight });
  });
  return {
    name: "TF-IDF",
    predict(asked) {
      const features = sparseDesign(
        applyTfidf(
          tfidf,
          asked.map(({ text }) => text),
        ),
      );
      return models.map((model) =>
        typeof model === "number"
          ? new Float64Array(asked.length).fill(model)
          : predictLogistic(model, features),
      );
    },
  };
}

function outputsOf(count: number): number[] {
  return Array.from({ length: count }, (_, output) => output);
}

/** Null where no row has a label. */
function solvedRate(rows: readonly LabelRow[], output: number): number | null {
  let solved = 0;
  let total = 0;
  for (const row of rows) {
    const weight = labelWeight(row, output);
    total += weight;
    solved += weight * (row.labels[output] ?? 0);
  }
  return total > 0 ? solved / total : null;
}
