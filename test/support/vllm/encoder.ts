// The vLLM adapter on folders of a test's own.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EncodeOptions, Encoder, Encoding } from "../../../src/encoder/encoder.js";
import type { VllmEncoderParts, VllmEvents } from "../../../src/encoder/vllm/parts.js";
import { createVllmEncoder } from "../../../src/encoder/vllm/vllm-encoder.js";
import { JudgeError } from "../../../src/errors.js";
import { fixturePath } from "../fixtures.js";
import { startVllmServer, type VllmServer } from "./server.js";

export interface VllmFolders {
  /** hidden_states_root */
  readonly root: string;
  readonly outside: string;
  remove(): void;
}

export function vllmFolders(): VllmFolders {
  const folder = mkdtempSync(join(tmpdir(), "vllm-"));
  const [root, outside] = ["root", "outside"].map((name) => join(folder, name)) as [string, string];
  mkdirSync(root, { mode: 0o700 });
  mkdirSync(outside);
  return { root, outside, remove: () => rmSync(folder, { recursive: true }) };
}

type Given = { readonly url: string; readonly root: string; readonly layers: readonly number[] };

export function vllmEncoder(given: Given & Partial<VllmEncoderParts>): Encoder {
  return createVllmEncoder(vllmParts(given));
}

export function vllmParts({
  url,
  root,
  layers,
  ...changes
}: Given & Partial<VllmEncoderParts>): VllmEncoderParts {
  return {
    id: "far",
    modelName: null,
    folder: fixturePath("tiny-encoder"),
    baseUrls: [url],
    servedModel: "tiny",
    apiKey: null,
    capturedLayers: layers,
    layerOffset: 0,
    hiddenStatesRoot: root,
    timeoutMs: 2000,
    fileTimeoutMs: 500,
    retryMs: 30,
    maxInFlight: 8,
    queueLimit: 256,
    sweepIntervalMs: 60_000,
    staleMs: 300_000,
    probeIntervalMs: 60_000,
    hedge: false,
    maxFolderBytes: 2 ** 32,
    events: vllmEvents(),
    ...changes,
  };
}

/** Events that nobody listens to but `changes`. */
export function vllmEvents(changes: Partial<VllmEvents> = {}): VllmEvents {
  const none = () => {};
  return {
    up: none,
    down: none,
    warning: none,
    swept: none,
    stillDown: none,
    server: none,
    folderBytes: none,
    ...changes,
  };
}

/** the ids that the servers of `withVllm` capture */
export const capturedLayers = [0, 4];
export const options: EncodeOptions = {
  view: { template: "chat", maxTokens: 400, truncation: "middle" },
  layers: capturedLayers,
  pooling: ["mean"],
};

export interface Subject {
  readonly encoder: Encoder;
  readonly server: VllmServer;
  readonly folders: VllmFolders;
}

/** Runs `work` with a started encoder, and its server, of its own. */
export async function withVllm(
  changes: Partial<VllmEncoderParts>,
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const folders = vllmFolders();
  const server = await startVllmServer({ ...folders, layers: capturedLayers });
  const encoder = vllmEncoder({ url: server.url, root: folders.root, layers: capturedLayers, ...changes });
  try {
    await encoder.start();
    await work({ encoder, server, folders });
  } finally {
    await encoder.close();
    await server.close();
    folders.remove();
  }
}

export async function encodeOne(encoder: Encoder, text = "What is 7326 - 147?"): Promise<Encoding> {
  const { encodings } = await encoder.encode([text], options);
  if (encodings[0] instanceof JudgeError) throw encodings[0];
  return encodings[0]!;
}

/** The error of one text. */
export async function faultOf(encoder: Encoder, changes: Partial<EncodeOptions> = {}): Promise<JudgeError> {
  const { encodings } = await encoder.encode(["What is 7326 - 147?"], { ...options, ...changes });
  assert.ok(encodings[0] instanceof JudgeError, "the text was encoded");
  return encodings[0];
}

/** Regular files and pipes that this process has open. */
export function openFileCount(): number {
  const links = readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
  return links.filter((target) => target.startsWith("/")).length;
}

export async function until(condition: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  while (!condition()) {
    assert.ok(performance.now() < endsAt, `not in time: ${what}`);
    await sleep(5);
  }
}
