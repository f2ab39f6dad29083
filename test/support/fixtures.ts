// The paths of the tests' data, and how to read it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** the folder of package.json */
export const packageRoot = new URL("../../../", import.meta.url);

export function packagePath(path: string): string {
  return fileURLToPath(new URL(path, packageRoot));
}

export function fixturePath(path: string): string {
  return packagePath(`test/fixtures/${path}`);
}

export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

export interface ParityRow {
  readonly prompt: string;
  readonly input_ids: readonly number[];
  readonly pooled_first8: readonly number[];
  readonly pooled_norm: number;
  /** those of the ensemble, by output */
  readonly raw: Readonly<Record<string, number>>;
  /** those after calibration, as a server answers them */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** The reference rows of an embedded checkpoint, made by test/parity/reference.py. */
export function parityRows(checkpoint: "smollm2-135m" | "minilm-l6"): ParityRow[] {
  const lines = readFileSync(fixturePath(`parity/${checkpoint}.jsonl`), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as ParityRow);
}

/** The rows that a judge judges. MiniLM's vocabulary does not know the long run of one letter. */
export function judgedRows(checkpoint: Parameters<typeof parityRows>[0]): ParityRow[] {
  return parityRows(checkpoint).filter(
    ({ prompt }) => checkpoint !== "minilm-l6" || !/^a{100,}$/.test(prompt),
  );
}

export interface TinyRow {
  readonly prompt: string;
  readonly input_ids: readonly number[];
  readonly last: Readonly<Record<string, readonly number[]>>;
  readonly mean: Readonly<Record<string, readonly number[]>>;
}

/** The reference values of the tiny encoder, from eager PyTorch in float32. */
export function tinyRows(): TinyRow[] {
  return readJson<{ rows: TinyRow[] }>(fixturePath("tiny-encoder/expected.json")).rows;
}

export function largestDifference(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  if (found.length !== wanted.length) return Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let index = 0; index < found.length; index++) {
    const difference = Math.abs(found[index]! - wanted[index]!);
    largest = difference >= largest || Number.isNaN(difference) ? difference : largest;
  }
  return largest;
}
