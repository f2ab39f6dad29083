// How well an AUC can be known from a number of labels.
import type { OutputCount } from "../labels/report.js";
import { aucHalfWidth } from "./metrics.js";

/** From here on an AUC is known to about ± 0.03, and judges can be told apart. */
const tellingRows = 1000;
/** Of judges that are worth having; at 0.8 the interval is narrower by a sixth. */
const usualAuc = 0.7;

/** How well an AUC can be known from labels as few as these; null where they are enough, or of one class. */
export interface ExpectedInterval {
  readonly auc: number;
  /** half the width of its 95 % interval on so many rows */
  readonly halfWidth: number;
  readonly wanted: number;
}

export function expectedInterval({ rows, solved, failed }: OutputCount): ExpectedInterval | null {
  if (solved === 0 || failed === 0 || rows >= tellingRows) return null;
  return { auc: usualAuc, halfWidth: aucHalfWidth(usualAuc, { solved, failed }), wanted: tellingRows };
}
