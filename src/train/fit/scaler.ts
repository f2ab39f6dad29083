// StandardScaler as scikit-learn's: mean and population standard deviation by column.

/** Row-major [rows, columns]. */
export interface Table {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

export interface Scaler {
  /** [columns] */
  readonly mean: Float64Array;
  /** [columns]; 1 for a column that does not vary beyond rounding */
  readonly scale: Float64Array;
}

export function fitScaler({ rows, columns, data }: Table): Scaler {
  if (rows === 0) throw new RangeError("a scaler needs at least one row");
  const mean = new Float64Array(columns);
  const variance = new Float64Array(columns);
  for (let index = 0, row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) mean[column]! += data[index++]!;
  }
  for (let column = 0; column < columns; column++) mean[column]! /= rows;
  for (let index = 0, row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      variance[column]! += (data[index++]! - mean[column]!) ** 2;
  }
  const scale = variance.map((sum, column) => {
    const spread = sum / rows;
    // scikit-learn's _is_constant_feature: the rounding error of the sums
    const rounding = rows * Number.EPSILON * spread + (rows * mean[column]! * Number.EPSILON) ** 2;
    return spread <= rounding ? 1 : Math.sqrt(spread);
  });
  return { mean, scale };
}
