// The floor: what onnxruntime alone needs for token ids, in a process of its own so that its threads disturb nothing
// else. Only session.run is timed; the feeds are made before, and the output is left unread.
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
    const inputs = feeds(ids);
    const started = performance.now();
    const results = await session.run(inputs, outputs);
    milliseconds.push(performance.now() - started);
    for (const result of Object.values(results)) result.dispose();
  }
  return milliseconds;
}

function feeds(ids: readonly number[]): Record<string, Tensor> {
  const shape = [1, ids.length];
  const inputs: Record<string, Tensor> = {
    input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), shape),
    attention_mask: new Tensor("int64", new BigInt64Array(ids.length).fill(1n), shape),
  };
  for (const input of session.inputMetadata) {
    if (!input.isTensor || !input.name.startsWith("past_key_values.")) continue;
    const pastShape = input.shape.map((size, axis) => (typeof size === "number" ? size : axis === 0 ? 1 : 0));
    inputs[input.name] = new Tensor("float32", new Float32Array(0), pastShape);
  }
  return inputs;
}

process.on("message", async (command: FloorLoad | FloorRun) => {
  if ("batch" in command) process.send!(await run(command));
  else {
    await load(command);
    process.send!("loaded");
  }
});
process.on("disconnect", () => process.exit(0));
