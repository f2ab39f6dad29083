// What a checkpoint says of its head's training, as a line for whoever is to trust it. The record has no
// fixed form: parts that `train` would not write so are passed over.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { type Checkpoint, isTorchFile } from "../../checkpoint/load.js";

const Aucs = z.array(
  z.looseObject({
    output: z.string(),
    auc: z.number().nullable(),
    low: z.number().nullable(),
    high: z.number().nullable(),
  }),
);
const Rows = z.int().positive();

export interface HeadFacts {
  readonly rows: number | null;
  /** of the .pt file or router.json; a copy may be younger than the head; null if it is unknown */
  readonly fileDate: string | null;
  /** by output: out of fold, with the 95 % interval */
  readonly aucs: z.infer<typeof Aucs>;
}

export async function headFacts({
  path,
  training,
}: Pick<Checkpoint, "path" | "training">): Promise<HeadFacts> {
  const file = isTorchFile(path) ? path : join(path, "router.json");
  const changed = await stat(file).then(
    ({ mtime }) => mtime.toISOString().slice(0, 10),
    () => null,
  );
  return {
    rows: Rows.safeParse(training.rows).data ?? null,
    fileDate: changed,
    aucs: Aucs.safeParse(training.auc_out_of_fold).data ?? [],
  };
}

/** What the training itself found wrong with the head. */
export function trainingWarnings({ training }: Pick<Checkpoint, "training">): string[] {
  const { warnings } = training;
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === "string") : [];
}

/** Such as `1065 rows, file of 2026-11-30, AUC out of fold: weak 0.905 [0.885, 0.923]`. */
export function headFactsText({ rows, fileDate, aucs }: HeadFacts): string {
  const figures = aucs.flatMap(({ output, auc, low, high }) => {
    if (auc === null) return [];
    const interval = low === null || high === null ? "" : ` [${low.toFixed(3)}, ${high.toFixed(3)}]`;
    return [`${output} ${auc.toFixed(3)}${interval}`];
  });
  const parts = [
    rows === null ? "rows not recorded" : `${rows} rows`,
    fileDate !== null && `file of ${fileDate}`,
    figures.length > 0 && `AUC out of fold: ${figures.join(", ")}`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}
