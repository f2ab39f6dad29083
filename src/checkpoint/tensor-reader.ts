// Takes the tensors out of a router.safetensors, and checks each against the shape that router.json gives.
import { JudgeError } from "../errors.js";
import type { Linear } from "../head/weights.js";
import { type SafetensorsFile, toFloat32 } from "./safetensors.js";

export interface TensorReader {
  /** @throws JudgeError `checkpoint` for a tensor that is missing, mis-shaped, not F32 or not finite */
  read(name: string, shape: readonly number[]): Float32Array;
  /** As `read`, for divisors: every value must be above 0. */
  readScale(name: string, shape: readonly number[]): Float32Array;
  /** NAME.weight [outputSize, inputSize] and NAME.bias [outputSize] */
  readLinear(name: string, inputSize: number, outputSize: number): Linear;
  /** @throws JudgeError `checkpoint` when a tensor has not been read */
  finish(): void;
}

export function createTensorReader(file: SafetensorsFile): TensorReader {
  const unread = new Set(file.tensors.keys());
  const refuse = (found: string, wanted?: string) =>
    new JudgeError("checkpoint", { place: "router.safetensors", found, wanted });

  const read: TensorReader["read"] = (name, shape) => {
    const tensor = file.tensors.get(name);
    if (tensor === undefined) throw refuse(`tensor ${name} is missing`);
    unread.delete(name);
    if (tensor.dtype !== "F32" || tensor.shape.join() !== shape.join()) {
      throw refuse(`${name} is ${tensor.dtype} [${tensor.shape}]`, `F32 [${shape}]`);
    }
    const values = toFloat32(tensor);
    if (!values.every(Number.isFinite)) throw refuse(`${name} holds a value that is not finite`);
    return values;
  };

  return {
    read,
    readScale(name, shape) {
      const scale = read(name, shape);
      if (scale.some((value) => value <= 0)) throw refuse(`${name} holds a value ≤ 0`);
      return scale;
    },
    readLinear: (name, inputSize, outputSize) => ({
      inputSize,
      outputSize,
      weight: read(`${name}.weight`, [outputSize, inputSize]),
      bias: read(`${name}.bias`, [outputSize]),
    }),
    finish() {
      if (unread.size > 0) throw refuse(`${unread.size} tensor(s) that router.json does not name`);
    },
  };
}
