// The matrix-vector product that every layer of the head is made of.

/** Gives matrix · vector: matrix [rows, vector.length], row-major → [rows]. */
export type Multiply = (matrix: Float32Array, rows: number, vector: Float64Array) => Float64Array;

/**
 * The product summed in float64. Four rows share each value of the vector and keep two sums each, which a
 * processor can overlap. For many texts, simd-multiply.ts is faster.
 */
export function multiply(matrix: Float32Array, rows: number, vector: Float64Array): Float64Array {
  const size = vector.length;
  const pairs = size - (size % 2);
  const fours = rows - (rows % 4);
  const product = new Float64Array(rows);
  for (let row = 0; row < fours; row += 4) {
    const [a, b, c, d] = [row * size, (row + 1) * size, (row + 2) * size, (row + 3) * size];
    let [a0, b0, c0, d0, a1, b1, c1, d1] = [0, 0, 0, 0, 0, 0, 0, 0];
    for (let index = 0; index < pairs; index += 2) {
      const even = vector[index]!;
      const odd = vector[index + 1]!;
      a0 += matrix[a + index]! * even;
      a1 += matrix[a + index + 1]! * odd;
      b0 += matrix[b + index]! * even;
      b1 += matrix[b + index + 1]! * odd;
      c0 += matrix[c + index]! * even;
      c1 += matrix[c + index + 1]! * odd;
      d0 += matrix[d + index]! * even;
      d1 += matrix[d + index + 1]! * odd;
    }
    if (pairs < size) {
      const last = vector[pairs]!;
      a0 += matrix[a + pairs]! * last;
      b0 += matrix[b + pairs]! * last;
      c0 += matrix[c + pairs]! * last;
      d0 += matrix[d + pairs]! * last;
    }
    product[row] = a0 + a1;
    product[row + 1] = b0 + b1;
    product[row + 2] = c0 + c1;
    product[row + 3] = d0 + d1;
  }
  for (let row = fours; row < rows; row++) {
    let sum = 0;
    for (let index = 0; index < size; index++) sum += matrix[row * size + index]! * vector[index]!;
    product[row] = sum;
  }
  return product;
}
