// The inner product under every matrix of the head.

/**
 * Σ row[offset + k] · vector[k] in float64. Four sums run side by side, which lets the processor overlap them: 0.24
 * instead of 0.33 ms for the layers of one embedded head.
 *
 * @param matrix row-major; the row starts at `offset` and is as long as `vector`
 */
export function dot(matrix: Float32Array, offset: number, vector: Float64Array): number {
  const size = vector.length;
  const whole = size - (size % 4);
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  for (let index = 0; index < whole; index += 4) {
    const place = offset + index;
    first += matrix[place]! * vector[index]!;
    second += matrix[place + 1]! * vector[index + 1]!;
    third += matrix[place + 2]! * vector[index + 2]!;
    fourth += matrix[place + 3]! * vector[index + 3]!;
  }
  for (let index = whole; index < size; index++) first += matrix[offset + index]! * vector[index]!;
  return first + second + third + fourth;
}
