// A vLLM server that runs the tiny encoder on the ids it receives and leaves the hidden states in files, as the
// ExampleHiddenStatesConnector does; and that can be told to do it wrong.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { serializeSafetensors } from "../../src/checkpoint/safetensors.js";
import { emptyPast } from "../../src/encoder/onnx/prefix.js";
import { fixturePath } from "./fixtures.js";

/** What the server does wrong, or late. */
export type Fault =
  | "none"
  | "late"
  | "late reply"
  | "slow"
  | "partial"
  | "never"
  | "zeroed"
  | "zero rows"
  | "not finite"
  | "other ids"
  | "missing rows"
  | "missing layer"
  | "trailing bytes"
  | "no safetensors"
  | "outside the root"
  | "outside through a link"
  | "another suffix"
  | "relative path"
  | "no path"
  | "symbolic link"
  | "pipe"
  | "folder"
  | "sparse"
  | "sparse header"
  | "400"
  | "401"
  | "404"
  | "429"
  | "500"
  | "no JSON"
  | "endless reply"
  | "cut off"
  | "hung"
  | "half a reply";

export type Dtype = "F32" | "BF16" | "F16";

export interface VllmServer {
  /** with `/v1` */
  readonly url: string;
  fault: Fault;
  dtype: Dtype;
  /** of the requests that came: token ids, and the Authorization header */
  readonly requests: { readonly ids: readonly number[]; readonly authorization: string | undefined }[];
  readonly sockets: ReadonlySet<Socket>;
  /** requests that are being answered, and the most that ever were at once */
  readonly load: { now: number; most: number };
  close(): Promise<void>;
}

export interface VllmServerOptions {
  /** shared_storage_path */
  readonly root: string;
  /** a folder beside it */
  readonly outside: string;
  /** eagle_aux_hidden_state_layer_ids, each below the model's 8 blocks */
  readonly layers: readonly number[];
  readonly port?: number;
}

const hiddenSize = 24;
const vocabularySize = 369;
const contextLength = 512;

export async function startVllmServer(options: VllmServerOptions): Promise<VllmServer> {
  const session = await InferenceSession.create(fixturePath("tiny-encoder/model.onnx"), {
    intraOpNumThreads: 1,
    logSeverityLevel: 4,
  });
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    state.load.now++;
    state.load.most = Math.max(state.load.most, state.load.now);
    response.on("close", () => state.load.now--);
    answer(session, options, state, request, response).catch((error) => response.destroy(error as Error));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const state: VllmServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    fault: "none",
    dtype: "F32",
    requests: [],
    sockets,
    load: { now: 0, most: 0 },
    async close() {
      if (!server.listening) return;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await session.release();
    },
  };
  return state;
}

async function answer(
  session: InferenceSession,
  { root, outside, layers }: VllmServerOptions,
  state: VllmServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { model: string; prompt: number[] };
  const ids = body.prompt;
  state.requests.push({ ids, authorization: request.headers.authorization });
  const name = `cmpl-${state.requests.length}.safetensors`;
  const { fault } = state;
  const refuse = (code: number, message: string) => {
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "Error", param: null, code } }));
  };
  if (/^\d+$/.test(fault)) return refuse(Number(fault), "refused");
  if (request.url !== "/v1/completions") return refuse(404, "Not Found");
  if (body.model !== "tiny") return refuse(404, "The model does not exist.");
  if (ids.length >= contextLength) {
    return refuse(400, `This model's maximum context length is ${contextLength} tokens.`);
  }
  if (ids.some((id) => id >= vocabularySize)) return refuse(400, "Token id is out of vocabulary");
  if (fault === "hung") return;
  if (fault === "late reply") await sleep(60);
  if (fault === "no JSON") return void response.end("<html>");
  if (fault === "cut off") return void response.destroy();
  if (fault === "endless reply") return void response.end(`{"x": "${"x".repeat(2 << 20)}"}`);
  if (fault === "half a reply") {
    response.writeHead(200, { "content-length": "1000" });
    return void response.write("{");
  }
  const folder =
    fault === "outside the root" ? outside : fault === "outside through a link" ? join(root, "link") : root;
  if (fault === "outside through a link") symlinkSync(outside, folder);
  const path = join(folder, fault === "another suffix" ? `${name}.txt` : name);
  const bytes = fileOf(await hiddenStates(session, ids, layers), ids, state);
  writeFileSync(`${path}.lock`, "");
  const named = fault === "relative path" ? name : path;
  const reply = {
    id: "cmpl",
    kv_transfer_params: fault === "no path" ? null : { hidden_states_path: named },
  };
  const early = ["none", "late reply", "symbolic link", "pipe", "folder", "sparse", "sparse header"].includes(
    fault,
  );
  if (early) await leaveFile(path, bytes, fault, outside);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(reply));
  if (!early) await leaveFile(path, bytes, fault, outside);
}

/** Writes the file as the fault wants it: after the reply, in parts, or as something else. */
async function leaveFile(path: string, bytes: Uint8Array, fault: Fault, outside: string): Promise<void> {
  if (fault === "never") return;
  if (fault === "late") await sleep(60);
  if (fault === "slow") {
    for (const share of [0.001, 0.01, 0.3, 0.9]) {
      writeFileSync(path, bytes.subarray(0, Math.ceil(bytes.byteLength * share)));
      await sleep(10);
    }
  }
  if (fault === "symbolic link") {
    writeFileSync(join(outside, "target.safetensors"), bytes);
    symlinkSync(join(outside, "target.safetensors"), path);
  } else if (fault === "pipe") execFileSync("mkfifo", [path]);
  else if (fault === "folder") mkdirSync(path);
  else if (fault === "no safetensors") writeFileSync(path, "12345678 this is none".repeat(10));
  else if (fault === "partial") writeFileSync(path, bytes.subarray(0, bytes.byteLength - 1));
  else if (fault === "trailing bytes") writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(8)]));
  else if (fault === "sparse" || fault === "sparse header") {
    writeFileSync(path, fault === "sparse" ? bytes : Buffer.from([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]));
    truncateSync(path, 2 ** 40);
  } else if (fault === "none" || fault === "late reply") {
    writeFileSync(`${path}.part`, bytes);
    renameSync(`${path}.part`, path);
  } else writeFileSync(path, bytes);
}

/** [tokens, layers, hidden], row-major */
async function hiddenStates(
  session: InferenceSession,
  ids: readonly number[],
  layers: readonly number[],
): Promise<Float32Array> {
  const outputs = await session.run(
    {
      input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]),
      attention_mask: new Tensor("int64", new BigInt64Array(ids.length).fill(1n), [1, ids.length]),
      ...emptyPast(session, 1),
    },
    layers.map((layer) => `hidden_states.${layer}`),
  );
  const states = new Float32Array(ids.length * layers.length * hiddenSize);
  layers.forEach((layer, place) => {
    const values = outputs[`hidden_states.${layer}`]!.data as Float32Array;
    for (let token = 0; token < ids.length; token++) {
      const row = values.subarray(token * hiddenSize, (token + 1) * hiddenSize);
      states.set(row, (token * layers.length + place) * hiddenSize);
    }
  });
  return states;
}

function fileOf(states: Float32Array, ids: readonly number[], { fault, dtype }: VllmServer): Uint8Array {
  const layers = states.length / ids.length / hiddenSize;
  let tokens = ids.length;
  let shape = [tokens, layers, hiddenSize];
  if (fault === "zeroed") states.fill(0);
  if (fault === "zero rows") states.fill(0, 0, layers * hiddenSize);
  if (fault === "not finite") states[states.length - 1] = Number.NaN;
  if (fault === "missing rows") {
    tokens--;
    shape = [tokens, layers, hiddenSize];
  }
  if (fault === "missing layer") shape = [tokens, layers - 1, hiddenSize];
  const values = states.subarray(
    0,
    shape.reduce((product, size) => product * size, 1),
  );
  const sent = BigInt64Array.from(ids, BigInt);
  if (fault === "other ids") sent[sent.length - 1]!++;
  return serializeSafetensors([
    ["hidden_states", { dtype, shape, data: encoded(values, dtype) }],
    ["token_ids", { dtype: "I64", shape: [sent.length], data: new Uint8Array(sent.buffer) }],
  ]);
}

function encoded(values: Float32Array, dtype: Dtype): Uint8Array {
  if (dtype === "F32") return new Uint8Array(values.slice().buffer);
  const toBits = dtype === "BF16" ? bfloat16Bits : float16Bits;
  return new Uint8Array(Uint16Array.from(values, toBits).buffer);
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** Rounded to nearest, ties to even. */
function bfloat16Bits(value: number): number {
  single[0] = value;
  const bits = singleBits[0]!;
  return Number.isNaN(value) ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** Of numbers in float16's range. */
function float16Bits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  const exponent = Math.max(Math.floor(Math.log2(size || 1e-10)), -14);
  const steps = Math.round(size / 2 ** (exponent - 10));
  return sign + (steps < 1024 ? steps : ((exponent + 15) << 10) + (steps - 1024));
}
