// A vLLM server without a model, in a process of its own: answers at once, and leaves a file of the wanted
// shape with made values a few milliseconds later, as a real server does. What it takes is the same for
// whoever asks.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serializeSafetensors } from "../../src/checkpoint/safetensors.js";

export interface VllmShape {
  /** first part of the server's path: its base URL is `http://127.0.0.1:PORT/NAME/v1` */
  readonly name: string;
  readonly hiddenSize: number;
  readonly dtype: "BF16" | "F32";
}

export interface VllmStart {
  /** where the files go */
  readonly root: string;
  readonly shapes: readonly VllmShape[];
}

/** Milliseconds from the reply to the file; which of them, a request's ids tell. */
const fileDelaysMs = [0, 1, 2, 3, 5, 7];
const contextLength = 8192;

let requests = 0;
const templates = new Map<string, { bytes: Uint8Array; idsAt: number }>();

/** A file for so many tokens, and where its token ids begin; made once, since only the ids differ. */
function templateOf({ name, hiddenSize, dtype }: VllmShape, tokens: number) {
  const key = `${name} ${tokens}`;
  const known = templates.get(key);
  if (known !== undefined) return known;
  const values = tokens * hiddenSize;
  const data =
    dtype === "F32"
      ? new Uint8Array(Float32Array.from({ length: values }, (_, index) => Math.sin(index)).buffer)
      : new Uint8Array(Uint16Array.from({ length: values }, (_, index) => 0x3f00 + (index % 251)).buffer);
  const bytes = serializeSafetensors([
    ["hidden_states", { dtype, shape: [tokens, 1, hiddenSize], data }],
    ["token_ids", { dtype: "I64", shape: [tokens], data: new Uint8Array(8 * tokens) }],
  ]);
  // int64 stands before the shorter types
  const template = { bytes, idsAt: bytes.length - data.length - 8 * tokens };
  templates.set(key, template);
  return template;
}

async function answer(
  { root, shapes }: VllmStart,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, name, , route] = request.url!.split("/");
  const shape = shapes.find((candidate) => candidate.name === name);
  if (shape === undefined) return void response.writeHead(404).end();
  if (route === "models") {
    return void response.end(JSON.stringify({ data: [{ id: "bench", max_model_len: contextLength }] }));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const sent = Buffer.concat(chunks);
  const { prompt } = JSON.parse(sent.toString("utf8")) as { prompt: number[] };
  const { bytes, idsAt } = templateOf(shape, prompt.length);
  new Uint8Array(bytes.buffer, idsAt, 8 * prompt.length).set(
    new Uint8Array(BigInt64Array.from(prompt, BigInt).buffer),
  );
  const path = join(root, `cmpl-${requests++}.safetensors`);
  writeFileSync(`${path}.lock`, "");
  response.setHeader("content-type", "application/json");
  const parameters = { hidden_states_path: path, size: bytes.length };
  response.end(JSON.stringify({ kv_transfer_params: parameters }));
  const delayMs = fileDelaysMs[createHash("sha256").update(sent).digest()[0]! % fileDelaysMs.length]!;
  const file = delayMs === 0 ? bytes : bytes.slice();
  if (delayMs === 0) writeFileSync(path, file);
  else setTimeout(() => writeFileSync(path, file), delayMs);
}

process.once("message", async (start: VllmStart) => {
  const server = createServer((request, response) => {
    answer(start, request, response).catch((error) => response.destroy(error as Error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
});
process.on("disconnect", () => process.exit(0));
