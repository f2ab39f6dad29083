// Matrices as logistic regression needs them: products with a vector from either side.

/** Compressed rows. */
export interface SparseMatrix {
  readonly rows: number;
  readonly columns: number;
  /** [rows + 1] where each row's entries start */
  readonly offsets: Uint32Array;
  readonly indices: Uint32Array;
  readonly values: Float64Array;
}

/** What a linear model does with its features. */
export interface Design {
  readonly rows: number;
  readonly columns: number;
  /** features · weight → [rows] */
  apply(weight: Float64Array): Float64Array;
  /** featuresᵀ · residual → [columns] */
  applyTransposed(residual: Float64Array): Float64Array;
}

export function sparseDesign({ rows, columns, offsets, indices, values }: SparseMatrix): Design {
  return {
    rows,
    columns,
    apply(weight) {
      const result = new Float64Array(rows);
      for (let row = 0; row < rows; row++) {
        let sum = 0;
        for (let entry = offsets[row]!; entry < offsets[row + 1]!; entry++) {
          sum += values[entry]! * weight[indices[entry]!]!;
        }
        result[row] = sum;
      }
      return result;
    },
    applyTransposed(residual) {
      const result = new Float64Array(columns);
      for (let row = 0; row < rows; row++) {
        const factor = residual[row]!;
        if (factor === 0) continue;
        for (let entry = offsets[row]!; entry < offsets[row + 1]!; entry++) {
          result[indices[entry]!]! += factor * values[entry]!;
        }
      }
      return result;
    },
  };
}

/** @param data [rows, columns], row-major */
export function denseDesign(data: Float32Array | Float64Array, columns: number): Design {
  const rows = data.length / columns;
  return {
    rows,
    columns,
    apply(weight) {
      const result = new Float64Array(rows);
      for (let row = 0; row < rows; row++) {
        let sum = 0;
        for (let column = 0; column < columns; column++)
          sum += data[row * columns + column]! * weight[column]!;
        result[row] = sum;
      }
      return result;
    },
    applyTransposed(residual) {
      const result = new Float64Array(columns);
      for (let row = 0; row < rows; row++) {
        const factor = residual[row]!;
        if (factor === 0) continue;
        for (let column = 0; column < columns; column++) {
          result[column]! += factor * data[row * columns + column]!;
        }
      }
      return result;
    },
  };
}
