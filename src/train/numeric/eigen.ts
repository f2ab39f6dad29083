// Eigenpairs of a symmetric matrix: Householder, then implicit QL (Golub & Van Loan, 8.3).

export interface Eigen {
  /** [count], largest first */
  readonly values: Float64Array;
  /** [count, size], row-major, of length 1; their sign is arbitrary */
  readonly vectors: Float64Array;
}

/**
 * The `count` largest.
 * @param matrix [size, size], symmetric; overwritten
 * @throws RangeError when the iteration does not converge (a value is not finite)
 */
export function symmetricEigen(matrix: Float64Array, size: number, count: number): Eigen {
  const { diagonal, next, factors } = tridiagonalise(matrix, size);
  const turned = identity(size);
  diagonalise(diagonal, next, turned);
  const order = Uint32Array.from(diagonal.keys()).sort((a, b) => diagonal[b]! - diagonal[a]!);
  const vectors = new Float64Array(count * size);
  for (let position = 0; position < count; position++) {
    const source = order[position]! * size;
    const vector = vectors.subarray(position * size, (position + 1) * size);
    vector.set(turned.subarray(source, source + size));
    for (let column = size - 3; column >= 0; column--) {
      const row = matrix.subarray(column * size, (column + 1) * size);
      reflect(vector, row, column + 1, factors[column]!);
    }
  }
  return { values: Float64Array.from(order.subarray(0, count), (index) => diagonal[index]!), vectors };
}

interface Tridiagonal {
  readonly diagonal: Float64Array;
  /** [size]: beside the diagonal; the last is 0 */
  readonly next: Float64Array;
  /** of the reflections I − factor · v vᵀ; row k of the matrix keeps v from column k + 1 on */
  readonly factors: Float64Array;
}

function tridiagonalise(matrix: Float64Array, size: number): Tridiagonal {
  const [diagonal, next] = [new Float64Array(size), new Float64Array(size)];
  const factors = new Float64Array(size);
  const product = new Float64Array(size);
  for (let column = 0; column < size - 2; column++) {
    const row = matrix.subarray(column * size, (column + 1) * size);
    let rest = 0;
    for (let index = column + 2; index < size; index++) rest += row[index]! ** 2;
    const head = row[column + 1]!;
    diagonal[column] = row[column]!;
    if (rest === 0) {
      next[column] = head;
      continue;
    }
    const length = Math.sqrt(rest + head * head);
    next[column] = head > 0 ? -length : length;
    row[column + 1] = head - next[column]!;
    factors[column] = 2 / (rest + row[column + 1]! ** 2);
    reflectBothSides(matrix, { row, start: column + 1, factor: factors[column]!, product });
  }
  for (let index = Math.max(0, size - 2); index < size; index++)
    diagonal[index] = matrix[index * (size + 1)]!;
  if (size > 1) next[size - 2] = matrix[(size - 2) * size + size - 1]!;
  return { diagonal, next, factors };
}

/** A ← H A H from `start` on: A − v wᵀ − w vᵀ with w = p − ½ factor (p·v) v, p = factor · A v. */
function reflectBothSides(
  matrix: Float64Array,
  reflection: {
    readonly row: Float64Array;
    readonly start: number;
    readonly factor: number;
    readonly product: Float64Array;
  },
): void {
  const { row, start, factor, product } = reflection;
  const size = row.length;
  let inner = 0;
  for (let index = start; index < size; index++) {
    const offset = index * size;
    let even = 0;
    let odd = 0;
    let column = start;
    for (; column + 1 < size; column += 2) {
      even += matrix[offset + column]! * row[column]!;
      odd += matrix[offset + column + 1]! * row[column + 1]!;
    }
    if (column < size) even += matrix[offset + column]! * row[column]!;
    product[index] = factor * (even + odd);
    inner += product[index]! * row[index]!;
  }
  const half = (factor * inner) / 2;
  for (let index = start; index < size; index++) product[index]! -= half * row[index]!;
  for (let index = start; index < size; index++) {
    const offset = index * size;
    const own = row[index]!;
    const other = product[index]!;
    for (let column = start; column < size; column++) {
      matrix[offset + column]! -= own * product[column]! + other * row[column]!;
    }
  }
}

/** vector ← (I − factor · v vᵀ) vector, with v the row from `start` on. */
function reflect(vector: Float64Array, row: Float64Array, start: number, factor: number): void {
  if (factor === 0) return;
  let inner = 0;
  for (let index = start; index < vector.length; index++) inner += row[index]! * vector[index]!;
  for (let index = start; index < vector.length; index++) vector[index]! -= factor * inner * row[index]!;
}

function identity(size: number): Float64Array {
  const matrix = new Float64Array(size * size);
  for (let index = 0; index < size; index++) matrix[index * (size + 1)] = 1;
  return matrix;
}

/** Implicit QL: `diagonal` becomes the eigenvalues, the rows of `turned` the eigenvectors. */
function diagonalise(diagonal: Float64Array, next: Float64Array, turned: Float64Array): void {
  const size = diagonal.length;
  let largest = 0;
  for (let index = 0; index < size; index++) {
    largest = Math.max(largest, Math.abs(diagonal[index]!) + Math.abs(next[index]!));
  }
  const negligible = largest * Number.EPSILON;
  for (let first = 0; first < size; first++) {
    for (let sweeps = 0; ; sweeps++) {
      let last = first;
      while (last < size - 1 && !(Math.abs(next[last]!) <= negligible)) last++;
      if (last === first) break;
      if (sweeps === 60) throw new RangeError("the eigenvalues do not converge: a value is not finite");
      sweep({ diagonal, next, turned }, first, last);
    }
  }
}

/** One QL step on the unreduced block first…last: a shift, then rotations from the bottom up. */
function sweep(
  { diagonal, next, turned }: { diagonal: Float64Array; next: Float64Array; turned: Float64Array },
  first: number,
  last: number,
): void {
  const beside = next[first]!;
  const ratio = (diagonal[first + 1]! - diagonal[first]!) / (2 * beside);
  const root = Math.sqrt(ratio * ratio + 1);
  let bulge = diagonal[last]! - diagonal[first]! + beside / (ratio + (ratio < 0 ? -root : root));
  let [sine, cosine, change] = [1, 1, 0];
  for (let index = last - 1; index >= first; index--) {
    const above = sine * next[index]!;
    const along = cosine * next[index]!;
    const length = Math.sqrt(above * above + bulge * bulge);
    next[index + 1] = length;
    if (length === 0) {
      // the block falls apart here
      diagonal[index + 1]! -= change;
      next[last] = 0;
      return;
    }
    sine = above / length;
    cosine = bulge / length;
    const lifted = diagonal[index + 1]! - change;
    const mixed = (diagonal[index]! - lifted) * sine + 2 * cosine * along;
    change = sine * mixed;
    diagonal[index + 1] = lifted + change;
    bulge = cosine * mixed - along;
    rotateRows(turned, index, { size: diagonal.length, sine, cosine });
  }
  diagonal[first]! -= change;
  next[first] = bulge;
  next[last] = 0;
}

function rotateRows(
  matrix: Float64Array,
  row: number,
  { size, sine, cosine }: { readonly size: number; readonly sine: number; readonly cosine: number },
): void {
  const start = row * size;
  for (let place = start; place < start + size; place++) {
    const upper = matrix[place]!;
    const lower = matrix[place + size]!;
    matrix[place + size] = sine * upper + cosine * lower;
    matrix[place] = cosine * upper - sine * lower;
  }
}
