// A vLLM server that runs the tiny encoder on the ids it receives and leaves the hidden states in files, as
// the ExampleHiddenStatesConnector does; and that can be told to do it wrong.
import { randomBytes } from "node:crypto";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { readTokenizerFolder } from "../../../src/encoder/folder.js";
import { emptyPast } from "../../../src/encoder/onnx/child/prefix.js";
import { loadTokenizer } from "../../../src/encoder/tokenizer/load.js";
import { tokenizeAll } from "../../../src/encoder/tokenizer/tokenize-all.js";
import { JudgeError } from "../../../src/errors.js";
import { fixturePath, readJson, tinyRows } from "../fixtures.js";
import { type Dtype, type Fault, fileOf, hiddenSize, leaveFile } from "./files.js";

export interface VllmServer {
  /** with `/v1` */
  readonly url: string;
  fault: Fault;
  dtype: Dtype;
  /** eagle_aux_hidden_state_layer_ids, each below the model's 8 blocks */
  layers: readonly number[];
  /** system_fingerprint of its replies; null: none */
  fingerprint: string | null;
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
  /** tokens of prompt and answer; absent: the model's 512 */
  readonly contextLength?: number;
  /** of all requests; absent: none is wanted */
  readonly apiKey?: string;
  /** what it answers to these ids */
  readonly recorded?: readonly RecordedCall[];
}

/** A call of a real server. */
export interface RecordedCall {
  readonly prompt: string;
  readonly ids: readonly number[];
  /** its hidden-state file */
  readonly bytes: Uint8Array;
}

interface Recorded {
  readonly calls: readonly { readonly prompt: string; readonly file: string }[];
  readonly too_long: { readonly status: number; readonly response: object };
  readonly unknown_model: { readonly status: number; readonly response: object };
}

const readRecorded = (name: string) => readJson<Recorded>(fixturePath(`vllm/${name}.json`));
const refusals = readRecorded("float32");

/** The calls that a real server answered in this dtype. */
export function recordedCalls(name: "float32" | "bfloat16"): RecordedCall[] {
  return readRecorded(name).calls.map(({ prompt, file }) => ({
    prompt,
    ids: tinyRows().find((row) => row.prompt === prompt)!.input_ids,
    bytes: new Uint8Array(readFileSync(fixturePath(`vllm/${file}`))),
  }));
}

const vocabularySize = 369;
const modelContextLength = 512;
/** those that have brought an answer */
const keptSockets = new WeakSet<Socket>();

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
    layers: options.layers,
    fingerprint: `vllm-test-${options.layers}`,
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
  options: VllmServerOptions,
  state: VllmServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { root, outside, contextLength = modelContextLength, apiKey, recorded = [] } = options;
  const { layers, fingerprint } = state;
  const send = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const refuse = (code: number, message: string) =>
    send(code, { error: { message, type: "Error", param: null, code } });
  const sendRecorded = (call: "too_long" | "unknown_model") =>
    send(refusals[call].status, refusals[call].response);
  const isKnown = apiKey === undefined || request.headers.authorization === `Bearer ${apiKey}`;
  if (!isKnown) return refuse(401, "Unauthorized");
  if (request.url === "/v1/models") {
    return void response.end(JSON.stringify({ data: [{ id: "tiny", max_model_len: contextLength }] }));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (request.url === "/tokenize") {
    const { prompt } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { prompt: string };
    const tokens = await tokenize(prompt);
    return send(200, { count: tokens.length, max_model_len: contextLength, tokens });
  }
  if (request.url !== "/v1/completions") return send(404, { detail: "Not Found" });
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { model: string; prompt: number[] };
  const ids = body.prompt;
  state.requests.push({ ids, authorization: request.headers.authorization });
  const given = request.headers["x-request-id"] ?? `${request.socket.localPort}-${state.requests.length}`;
  const name = `cmpl-${given}-0-${randomBytes(4).toString("hex")}.safetensors`;
  const { fault } = state;
  if (/^\d+$/.test(fault)) return refuse(Number(fault), "refused");
  if (body.model !== "tiny" || fault === "unknown model") return sendRecorded("unknown_model");
  if (ids.length >= contextLength || fault === "too long") return sendRecorded("too_long");
  if (ids.some((id) => id >= vocabularySize)) return refuse(400, "Token id is out of vocabulary");
  if (fault === "hung") return;
  if (fault === "switches protocols") {
    request.socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    return;
  }
  if (fault === "late reply") await sleep(60);
  if (fault === "no JSON") return void response.end("<html>");
  if (fault === "cut off") return void response.destroy();
  if (fault === "cut off when kept" && keptSockets.has(request.socket)) return void response.destroy();
  keptSockets.add(request.socket);
  if (fault === "endless reply") return void response.end(`{"x": "${"x".repeat(2 << 20)}"}`);
  if (fault === "half a reply") {
    response.writeHead(200, { "content-length": "1000" });
    return void response.write("{");
  }
  const folder =
    fault === "outside the root" ? outside : fault === "outside through a link" ? join(root, "link") : root;
  if (fault === "outside through a link") symlinkSync(outside, folder);
  const path = join(folder, fault === "another suffix" ? `${name}.txt` : name);
  const known = recorded.find((call) => call.ids.join() === ids.join());
  const bytes = known?.bytes ?? fileOf(await hiddenStates(session, ids, layers), ids, state);
  writeFileSync(`${path}.lock`, "");
  const named =
    fault === "relative path"
      ? name
      : fault === "another file's name"
        ? join(root, "router.safetensors")
        : path;
  const reply = {
    id: "cmpl",
    ...(fingerprint !== null && { system_fingerprint: fingerprint }),
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

/** The model's own ids of a text, special tokens included. */
async function tokenize(prompt: string): Promise<readonly number[]> {
  const { tokenizer } = await readTokenizerFolder(fixturePath("tiny-encoder"));
  const view = { template: "none", maxTokens: modelContextLength, truncation: "right" } as const;
  const [tokens] = tokenizeAll(await loadTokenizer(tokenizer), [prompt], view);
  if (tokens instanceof JudgeError) throw tokens;
  return tokens!.ids;
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
