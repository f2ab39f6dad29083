// PCA of standardised columns as scikit-learn's with its exact solvers, signs included.
import { symmetricEigen } from "../numeric/eigen.js";
import { gramMatrix } from "../numeric/gram.js";
import type { Table } from "./scaler.js";

export interface Pca {
  /** [columns] of the standardised values */
  readonly mean: Float64Array;
  /** [size, columns], row-major; each row's largest value by magnitude is positive (svd_flip) */
  readonly components: Float64Array;
  /** [size], n − 1 in the denominator */
  readonly explainedVariance: Float64Array;
  /** [size]: of the variance of all columns */
  readonly explainedVarianceRatio: Float64Array;
}

/**
 * From the covariance of the columns, or the Gram matrix where there are fewer rows.
 * @param standardise mean and scale by column, [columns] each: the PCA is of (x − mean) / scale
 * @throws RangeError when `size` exceeds the rows or columns, or there are fewer than two rows
 */
export function fitPca(
  table: Table,
  standardise: { readonly mean: ArrayLike<number>; readonly scale: ArrayLike<number> },
  size: number,
): Pca {
  const { rows, columns, data } = table;
  if (rows < 2) throw new RangeError("a PCA needs at least two rows");
  if (!(size >= 1 && size <= Math.min(rows, columns))) {
    throw new RangeError(`a PCA of ${rows} rows and ${columns} columns has no ${size} components`);
  }
  const shift = Float64Array.from(standardise.mean);
  const scale = Float64Array.from(standardise.scale);
  const scaled = (row: number, column: number) =>
    (data[row * columns + column]! - shift[column]!) / scale[column]!;
  const mean = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) mean[column]! += scaled(row, column) / rows;
  }
  const centred = (row: number, column: number) => scaled(row, column) - mean[column]!;
  const centredTable = { rows, columns, centred };
  const { values, components, total } =
    rows < columns ? fromRows(centredTable, size) : fromColumns(centredTable, size);
  for (let row = 0; row < size; row++) fixSign(components.subarray(row * columns, (row + 1) * columns));
  const explainedVariance = values.map((value) => Math.max(0, value) / (rows - 1));
  const all = total / (rows - 1);
  return {
    mean,
    components,
    explainedVariance,
    explainedVarianceRatio: explainedVariance.map((variance) => (all > 0 ? variance / all : 0)),
  };
}

interface Centred {
  readonly rows: number;
  readonly columns: number;
  readonly centred: (row: number, column: number) => number;
}

interface Spectrum {
  /** squares of the singular values */
  readonly values: Float64Array;
  readonly components: Float64Array;
  /** sum of all squares */
  readonly total: number;
}

function fromColumns({ rows, columns, centred }: Centred, size: number): Spectrum {
  const matrix = gramMatrix({ count: columns, length: rows, valueAt: (column, row) => centred(row, column) });
  const total = trace(matrix, columns);
  const { values, vectors } = symmetricEigen(matrix, columns, size);
  return { values, components: vectors, total };
}

/** An eigenvector u of Z Zᵀ gives the component Zᵀ u / |Zᵀ u|. Beyond the rank it stays zero. */
function fromRows({ rows, columns, centred }: Centred, size: number): Spectrum {
  const matrix = gramMatrix({ count: rows, length: columns, valueAt: centred });
  const total = trace(matrix, rows);
  const { values, vectors } = symmetricEigen(matrix, rows, size);
  const components = new Float64Array(size * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = centred(row, column);
      for (let component = 0; component < size; component++) {
        components[component * columns + column]! += vectors[component * rows + row]! * value;
      }
    }
  }
  const negligible = total * rows * Number.EPSILON;
  for (let component = 0; component < size; component++) {
    const vector = components.subarray(component * columns, (component + 1) * columns);
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    const exists = values[component]! > negligible;
    for (let column = 0; column < columns; column++) vector[column] = exists ? vector[column]! / length : 0;
  }
  return { values, components, total };
}

function trace(matrix: Float64Array, size: number): number {
  let sum = 0;
  for (let index = 0; index < size; index++) sum += matrix[index * (size + 1)]!;
  return sum;
}

function fixSign(component: Float64Array): void {
  let largest = 0;
  for (const value of component) if (Math.abs(value) > Math.abs(largest)) largest = value;
  if (largest < 0) for (let index = 0; index < component.length; index++) component[index]! *= -1;
}
