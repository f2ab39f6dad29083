// Pools the hidden states of one text as they come in, some rows at a time, so that no more of a file than that is in memory.
// Only values that count are looked at closely: those of a pooled vector must be finite, and no row may be nothing but zeros.

import { toFloat32 } from "../../checkpoint/safetensors.js";
import { bytesPerValue } from "../../checkpoint/safetensors-header.js";
import { type ErrorText, JudgeError } from "../../errors.js";
import { faultOf, type PooledKey, pooledKey } from "../../features/pooled.js";
import type { PoolingMode } from "../../features/pooling.js";

export type StateDtype = "BF16" | "F16" | "F32";

export interface RowShape {
  readonly dtype: StateDtype;
  readonly tokens: number;
  /** hidden-state indices in the order of a row */
  readonly captured: readonly number[];
  readonly hiddenSize: number;
}

export interface Wanted {
  /** hidden-state indices, each of them captured */
  readonly layers: readonly number[];
  readonly pooling: readonly PoolingMode[];
}

export interface RowPooling {
  /**
   * Takes the next rows.
   *
   * @param bytes [rows, captured layers, hiddenSize] at an offset that is a multiple of 4; not kept
   * @throws JudgeError `encoder_error` for a row of zeros
   */
  add(bytes: Uint8Array): void;
  /** @throws JudgeError `encoder_error` for values that are not finite, or the same throughout */
  pooled(): Map<PooledKey, Float32Array>;
}

type Values = Uint16Array | Float32Array;

/** Summed in one step: sums are read and written once for all of them. */
const rowsAtOnce = 4;
/** The value of every bit pattern, by dtype of 16 bits. */
const valuesOfBits = new Map<StateDtype, Float32Array>();

export function createRowPooling(shape: RowShape, wanted: Wanted): RowPooling {
  const { dtype, tokens, captured, hiddenSize } = shape;
  const wantsMean = wanted.pooling.includes("mean");
  const layers = wanted.layers.map((layer) => ({
    layer,
    place: captured.indexOf(layer),
    sums: new Float64Array(wantsMean ? hiddenSize : 0),
    last: new Float32Array(hiddenSize),
  }));
  const table = dtype === "F32" ? null : tableOf(dtype);
  const noRow = table === null ? new Float32Array(hiddenSize) : new Uint16Array(hiddenSize);
  let seen = 0;

  function sumUp(sums: Float64Array, row: (index: number) => Values, count: number): void {
    for (let first = 0; first < count; first += rowsAtOnce) {
      const [a, b, c, d] = [0, 1, 2, 3].map((step) => (first + step < count ? row(first + step) : noRow));
      if (table !== null) addCoded(sums, table, a!, b!, c!, d!);
      else addPlain(sums, a!, b!, c!, d!);
    }
  }

  return {
    add(bytes) {
      const values = valuesOf(bytes, dtype);
      const rowSize = captured.length * hiddenSize;
      const count = values.length / rowSize;
      for (const { place, sums, last } of layers) {
        const row = (index: number) => {
          const start = index * rowSize + place * hiddenSize;
          return values.subarray(start, start + hiddenSize);
        };
        for (let index = 0; index < count; index++) {
          if (isZero(row(index), table)) throw fault({ found: "with zeros for a token" });
        }
        if (wantsMean) sumUp(sums, row, count);
        if (seen + count === tokens) {
          row(count - 1).forEach((value, index) => {
            last[index] = table === null ? value : table[value]!;
          });
        }
      }
      seen += count;
    },
    pooled() {
      const vectors = new Map<PooledKey, Float32Array>();
      for (const { layer, sums, last } of layers) {
        for (const mode of wanted.pooling) {
          const vector = mode === "last" ? last : Float32Array.from(sums, (sum) => sum / tokens);
          const found = faultOf(vector);
          if (found !== null) throw fault({ found: `with values that are ${found}` });
          vectors.set(pooledKey(layer, mode), vector);
        }
      }
      return vectors;
    },
  };
}

/** Every machine that Node and onnxruntime run on is little-endian, as the format is. */
function valuesOf({ buffer, byteOffset, byteLength }: Uint8Array, dtype: StateDtype): Values {
  const length = byteLength / bytesPerValue[dtype];
  if (dtype === "F32") return new Float32Array(buffer, byteOffset, length);
  return new Uint16Array(buffer, byteOffset, length);
}

function tableOf(dtype: "BF16" | "F16"): Float32Array {
  const known = valuesOfBits.get(dtype);
  if (known !== undefined) return known;
  const bits = Uint16Array.from({ length: 1 << 16 }, (_, index) => index);
  const table = toFloat32({ dtype, shape: [bits.length], data: new Uint8Array(bits.buffer) });
  valuesOfBits.set(dtype, table);
  return table;
}

/** No token of a model has a hidden state of zeros only; the first value tells as a rule. */
function isZero(row: Values, table: Float32Array | null): boolean {
  for (const value of row) if ((table === null ? value : table[value]!) !== 0) return false;
  return true;
}

function addCoded(sums: Float64Array, table: Float32Array, a: Values, b: Values, c: Values, d: Values): void {
  for (let index = 0; index < sums.length; index++) {
    sums[index]! += table[a[index]!]! + table[b[index]!]! + table[c[index]!]! + table[d[index]!]!;
  }
}

function addPlain(sums: Float64Array, a: Values, b: Values, c: Values, d: Values): void {
  for (let index = 0; index < sums.length; index++) {
    sums[index]! += a[index]! + b[index]! + c[index]! + d[index]!;
  }
}

/** What is wrong with hidden states, as an error. Some releases are known to give what has no remedy of its own here. */
export function fault(
  { found, wanted, remedy = "compare the server's release with those that the README names" }: ErrorText,
  cause?: unknown,
): JudgeError {
  const whole = `the vLLM server's hidden states are ${found}`;
  return new JudgeError("encoder_error", { found: whole, wanted, remedy }, { cause });
}
