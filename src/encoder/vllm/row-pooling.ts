// Pools hidden states as they come, some rows at a time, and refuses rows that no model gives.

import { toFloat32 } from "../../checkpoint/safetensors.js";
import { bytesPerValue } from "../../checkpoint/safetensors-header.js";
import { type ErrorText, JudgeError } from "../../errors.js";
import { faultOf, type PooledVectors, pooledKey, type WantedFeatures } from "../../features/pooled.js";
import { createPooler } from "../../features/pooling.js";

export type StateDtype = "BF16" | "F16" | "F32";

export interface RowShape {
  readonly dtype: StateDtype;
  readonly tokens: number;
  /** hidden-state indices in the order of a row */
  readonly captured: readonly number[];
  readonly hiddenSize: number;
}

export interface RowPooling {
  /**
   * Takes the next rows.
   * @param bytes [rows, captured layers, hiddenSize] at an offset that is a multiple of 4; not kept
   * @throws JudgeError `encoder_error` for a row of zeros
   */
  add(bytes: Uint8Array): void;
  /** @throws JudgeError `encoder_error` for values that are not finite, or the same throughout */
  pooled(): PooledVectors;
}

type Values = Uint16Array | Float32Array;

/** The value of every bit pattern, by dtype of 16 bits. */
const valuesOfBits = new Map<StateDtype, Float32Array>();

export function createRowPooling(shape: RowShape, wanted: WantedFeatures): RowPooling {
  const { dtype, captured, hiddenSize } = shape;
  const layers = wanted.layers.map((layer) => ({
    start: captured.indexOf(layer) * hiddenSize,
    poolers: wanted.pooling.map((mode) => ({
      key: pooledKey(layer, mode),
      pooler: createPooler(mode, hiddenSize),
    })),
  }));
  const stride = captured.length * hiddenSize;
  const table = dtype === "F32" ? null : tableOf(dtype);

  return {
    add(bytes) {
      const values = valuesOf(bytes, dtype);
      const count = values.length / stride;
      for (const { start, poolers } of layers) {
        for (let begin = start; begin < values.length; begin += stride) {
          if (isZero(values.subarray(begin, begin + hiddenSize), table))
            throw fault({ found: "with zeros for a token" });
        }
        for (const { pooler } of poolers) pooler.addRows({ values, table, start, stride, count });
      }
    },
    pooled() {
      const vectors = layers.flatMap(({ poolers }) =>
        poolers.map(({ key, pooler }) => [key, pooler.value()] as const),
      );
      for (const [, vector] of vectors) {
        const found = faultOf(vector);
        if (found !== null) throw fault({ found: `with values that are ${found}` });
      }
      return new Map(vectors);
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

/** What is wrong with hidden states. Some releases of vLLM are known to give them. */
export function fault(
  { found, wanted, remedy = "compare the server's release with those that the README names" }: ErrorText,
  cause?: unknown,
): JudgeError {
  const whole = `the vLLM server's hidden states are ${found}`;
  return new JudgeError("encoder_error", { found: whole, wanted, remedy, cause });
}
