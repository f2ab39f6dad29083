// The floor: what onnxruntime alone needs for token ids, in a process of its own so that its threads disturb
// nothing else. Only session.run is timed; the feeds are made before, and the output is left unread.
import { performance } from "node:perf_hooks";
import { InferenceSession, Tensor } from "onnxruntime-node";

export interface FloorLoad {
  readonly modelFile: string;
  /** intra-op threads, as the server's */
  readonly threads: number;
  /** names of the outputs that the judge needs */
  readonly outputs: readonly string[];
}

export interface FloorRun {
  readonly batch: readonly (readonly number[])[];
}

export interface FloorBatches {
  readonly batches: readonly (readonly (readonly number[])[])[];
}

let session: InferenceSession;
let outputs: readonly string[] = [];

async function load(command: FloorLoad): Promise<void> {
  session = await InferenceSession.create(command.modelFile, {
    intraOpNumThreads: command.threads,
    logSeverityLevel: 4,
  });
  outputs = command.outputs;
}

/** One forward per text, one after the other; milliseconds of each. */
async function run({ batch }: FloorRun): Promise<number[]> {
  const milliseconds: number[] = [];
  for (const ids of batch) {
    const inputs = feeds([ids]);
    const started = performance.now();
    const results = await session.run(inputs, outputs);
    milliseconds.push(performance.now() - started);
    for (const result of Object.values(results)) result.dispose();
  }
  return milliseconds;
}

/** One forward per batch; milliseconds of all of them, feeds included. */
async function runBatches({ batches }: FloorBatches): Promise<number> {
  const started = performance.now();
  for (const batch of batches) {
    const results = await session.run(feeds(batch), outputs);
    for (const result of Object.values(results)) result.dispose();
  }
  return performance.now() - started;
}

/** Padded on the right. */
function feeds(batch: readonly (readonly number[])[]): Record<string, Tensor> {
  const sequence = Math.max(...batch.map((ids) => ids.length));
  const shape = [batch.length, sequence];
  const inputIds = new BigInt64Array(batch.length * sequence);
  const mask = new BigInt64Array(batch.length * sequence);
  batch.forEach((ids, row) => {
    inputIds.set(BigInt64Array.from(ids, BigInt), row * sequence);
    mask.fill(1n, row * sequence, row * sequence + ids.length);
  });
  const inputs: Record<string, Tensor> = {
    input_ids: new Tensor("int64", inputIds, shape),
    attention_mask: new Tensor("int64", mask, shape),
  };
  for (const input of session.inputMetadata) {
    if (!input.isTensor || !input.name.startsWith("past_key_values.")) continue;
    const pastShape = input.shape.map((size, axis) =>
      typeof size === "number" ? size : axis === 0 ? batch.length : 0,
    );
    inputs[input.name] = new Tensor("float32", new Float32Array(0), pastShape);
  }
  return inputs;
}

process.on("message", async (command: FloorLoad | FloorRun | FloorBatches) => {
  if ("batch" in command) process.send!(await run(command));
  else if ("batches" in command) process.send!(await runBatches(command));
  else {
    await load(command);
    process.send!("loaded");
  }
});
process.on("disconnect", () => process.exit(0));
