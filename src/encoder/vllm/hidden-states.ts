// The content of a hidden-state file, checked against what was sent, → pooled vectors. Servers are known to answer with
// another request's rows, with the uncached rows only, or with zeros: no such file passes.
import { parseSafetensors, type Tensor, toFloat32, toInt64 } from "../../checkpoint/safetensors.js";
import { bytesPerValue } from "../../checkpoint/safetensors-header.js";
import { JudgeError } from "../../errors.js";
import { type PooledKey, pooledKey } from "../../features/pooled.js";
import { type PoolingMode, pool } from "../../features/pooling.js";

export interface Expected {
  /** the token ids that were sent */
  readonly ids: readonly number[];
  /** hidden-state indices in the order of the file's second axis */
  readonly captured: readonly number[];
  /** null: not known yet */
  readonly hiddenSize: number | null;
}

export interface HiddenStates {
  readonly hiddenSize: number;
  /** @throws JudgeError `encoder_error` for values that no model gives */
  pool(layers: readonly number[], pooling: readonly PoolingMode[]): Map<PooledKey, Float32Array>;
}

/** Larger than any model's; bounds what is read before the size is known. */
const largestHiddenSize = 65_536;

/** The most bytes that a file of so many tokens and layers can have. */
export function largestFile({ ids, captured, hiddenSize }: Expected): number {
  const perToken = 8 + captured.length * (hiddenSize ?? largestHiddenSize) * bytesPerValue.F32;
  return (1 << 16) + ids.length * perToken;
}

/** @throws JudgeError `encoder_error` when the file is not of what was sent */
export function readHiddenStates(bytes: Uint8Array, expected: Expected): HiddenStates {
  const { ids, captured } = expected;
  const { states, tokenIds } = findTensors(bytes);
  if (tokenIds.length !== ids.length || ids.some((id, index) => tokenIds[index] !== BigInt(id))) {
    throw fault(`of other token ids than were sent: ${tokenIds.length}, wanted ${ids.length}`);
  }
  const [tokens, layers, hiddenSize] = states.shape;
  if (states.shape.length !== 3 || hiddenSize === 0) throw fault("not of shape [tokens, layers, hidden]");
  if (tokens !== ids.length) throw fault(`of ${tokens} tokens, wanted ${ids.length}`);
  if (layers !== captured.length) {
    throw fault(`of ${layers} layers, captured_layers names ${captured.length}`);
  }
  if (expected.hiddenSize !== null && hiddenSize !== expected.hiddenSize) {
    throw fault(`of hidden size ${hiddenSize}, at the start it was ${expected.hiddenSize}`);
  }
  const shape = { sequence: tokens, hiddenSize: hiddenSize! };
  const mask = new Uint8Array(tokens).fill(1);
  return {
    hiddenSize: hiddenSize!,
    pool(wanted, pooling) {
      const pooled = new Map<PooledKey, Float32Array>();
      for (const layer of wanted) {
        const values = layerOf(states, captured.indexOf(layer));
        checkValues(values, hiddenSize!);
        for (const mode of pooling) {
          pooled.set(pooledKey(layer, mode), pool(values, mask, shape, { row: 0, mode }));
        }
      }
      return pooled;
    },
  };
}

function findTensors(bytes: Uint8Array): { states: Tensor; tokenIds: BigInt64Array } {
  try {
    const { tensors } = parseSafetensors(bytes);
    const states = tensors.get("hidden_states");
    const tokenIds = tensors.get("token_ids");
    if (states === undefined || tokenIds === undefined) {
      throw fault("without hidden_states or token_ids");
    }
    if (states.dtype !== "BF16" && states.dtype !== "F16" && states.dtype !== "F32") {
      throw fault(`of dtype ${states.dtype}, wanted BF16, F16 or F32`);
    }
    return { states, tokenIds: toInt64(tokenIds) };
  } catch (error) {
    if (error instanceof JudgeError && error.code === "encoder_error") throw error;
    throw fault("not as the safetensors format demands", error);
  }
}

/** [tokens, hidden] of one captured layer, as float32. */
function layerOf({ dtype, shape, data }: Tensor, place: number): Float32Array {
  const [tokens, layers, hiddenSize] = shape as [number, number, number];
  const rowBytes = hiddenSize * bytesPerValue[dtype];
  const rows = new Uint8Array(tokens * rowBytes);
  for (let token = 0; token < tokens; token++) {
    const start = (token * layers + place) * rowBytes;
    rows.set(data.subarray(start, start + rowBytes), token * rowBytes);
  }
  return toFloat32({ dtype, shape: [tokens, hiddenSize], data: rows });
}

/** No token of a model has a hidden state of zeros only. */
function checkValues(values: Float32Array, hiddenSize: number): void {
  for (let start = 0; start < values.length; start += hiddenSize) {
    let isZero = true;
    for (let index = start; index < start + hiddenSize; index++) {
      const value = values[index]!;
      if (!Number.isFinite(value)) throw fault("with values that are not finite");
      if (value !== 0) isZero = false;
    }
    if (isZero) throw fault("with zeros for a token");
  }
}

function fault(finding: string, cause?: unknown): JudgeError {
  return new JudgeError("encoder_error", `the vLLM server's hidden states are ${finding}`, { cause });
}
