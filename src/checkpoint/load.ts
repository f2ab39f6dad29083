// Reads a checkpoint of any format from the disk, with its selftest and its notice if it has them.
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { asJudgeError, JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";
import { isMissing, readRegularFile } from "../input/regular-file.js";
import { checkHead } from "./check-head.js";
import type { CheckpointContent } from "./checkpoint-content.js";
import { parseRouterJson, readRouterTensors } from "./router-json.js";
import { parseRouterJson2, type RouterJson2, readRouterJson2, type TrainedView } from "./router-json-2.js";
import { parseSafetensors } from "./safetensors.js";
import { parseSelftest, type Selftest } from "./selftest.js";
import { parseTorchCheckpoint } from "./torch/torch-checkpoint.js";

/** Larger files are refused before they are read. No head of a known encoder comes near. */
const maxFileBytes = 2 ** 30;

export interface Checkpoint extends CheckpointContent {
  /** a folder with router.json, or a .pt file */
  readonly path: string;
  /** SHA-256 over the files of the checkpoint: its first 16 hexadecimal digits */
  readonly hash: string;
  /** SHA-256 in hexadecimal by file name */
  readonly files: Readonly<Record<string, string>>;
  /** the view of the training; null where the format does not say it */
  readonly view: TrainedView | null;
  /** SHA-256 in hexadecimal by name of the encoder's files; empty where the format does not say it */
  readonly encoderFiles: Readonly<Record<string, string>>;
  readonly training: RouterJson2["training"];
  readonly selftest: Selftest | null;
  /** a sentence that the server prints at its start */
  readonly notice: string | null;
}

/**
 * Reads a folder with router.json (format 1 or 2), or a .pt file of llm-router or Switchyard. The selftest is
 * selftest.json in the folder, or NAME.selftest.json beside NAME.pt.
 * @throws JudgeError `checkpoint` that names the path and the file
 */
export async function loadCheckpoint(path: string): Promise<Checkpoint> {
  try {
    const checkpoint = isTorchFile(path) ? await loadTorchFile(path) : await loadFolder(path);
    checkHead(checkpoint.head);
    return checkpoint;
  } catch (error) {
    if (!(error instanceof JudgeError)) throw error;
    throw error.within(`checkpoint ${path}`, "restore the file from the checkpoint's original");
  }
}

/** Whether the path names a file of torch and not a folder. */
export function isTorchFile(path: string): boolean {
  return torchEnding.test(path);
}

/** The path of the selftest of a file of torch. */
export function torchSelftest(path: string): string {
  return path.replace(torchEnding, ".selftest.json");
}

const torchEnding = /\.pt$/i;

async function loadFolder(folder: string): Promise<Checkpoint> {
  const routerBytes = await readWhole(folder, "router.json");
  const tensorBytes = await readWhole(folder, "router.safetensors");
  const files = { "router.json": sha256(routerBytes), "router.safetensors": sha256(tensorBytes) };
  const metadata = parseJson(routerBytes, "router.json");
  const tensors = () => {
    try {
      return parseSafetensors(tensorBytes);
    } catch (error) {
      throw asJudgeError(error).within("router.safetensors");
    }
  };
  const common = {
    path: folder,
    hash: hashOf(files),
    files,
    selftest: await readSelftest(folder, "selftest.json"),
    notice: await readNotice(folder),
  };
  if ((metadata as { format_version?: unknown } | null)?.format_version === 2) {
    const checked = parseRouterJson2(metadata);
    if (checked.tensor_sha256 !== files["router.safetensors"]) {
      throw new JudgeError("checkpoint", {
        found: "router.safetensors has another SHA-256 than router.json says",
      });
    }
    return { ...common, ...readRouterJson2(checked, tensors()) };
  }
  const checked = parseRouterJson(metadata);
  return {
    ...common,
    format: "router-json-1",
    encoderName: checked.encoder,
    head: readRouterTensors(checked, tensors()),
    ...unknownTraining,
    chatTemplateKwargs: {},
    message: "first",
    costs: null,
  };
}

async function loadTorchFile(file: string): Promise<Checkpoint> {
  const name = basename(file);
  const bytes = await readWhole(dirname(file), name);
  const files = { [name]: sha256(bytes) };
  return {
    ...parseTorchCheckpoint(bytes),
    ...unknownTraining,
    path: file,
    hash: hashOf(files),
    files,
    selftest: await readSelftest(dirname(file), torchSelftest(name)),
    notice: null,
  };
}

const unknownTraining = { view: null, encoderFiles: {}, training: {} };

async function readNotice(folder: string): Promise<string | null> {
  const bytes = await readWhole(folder, "notice.txt", "optional");
  return bytes && decodeText(bytes, "notice.txt", "checkpoint").trim();
}

async function readSelftest(folder: string, name: string): Promise<Selftest | null> {
  const bytes = await readWhole(folder, name, "optional");
  return bytes && parseSelftest(parseJson(bytes, name));
}

function hashOf(files: Readonly<Record<string, string>>): string {
  return sha256(Buffer.from(Object.values(files).join(""))).slice(0, 16);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function readWhole(folder: string, name: string): Promise<Buffer>;
async function readWhole(folder: string, name: string, presence: "optional"): Promise<Buffer | null>;
async function readWhole(folder: string, name: string, presence?: "optional"): Promise<Buffer | null> {
  const remedy = "a checkpoint is a folder with router.json and router.safetensors";
  const path = join(folder, name);
  try {
    return await readRegularFile({ path, name, code: "checkpoint", remedy, maxBytes: maxFileBytes });
  } catch (error) {
    if (presence === "optional" && isMissing(error)) return null;
    throw error;
  }
}

function parseJson(bytes: Buffer, name: string): unknown {
  try {
    return JSON.parse(decodeText(bytes, name, "checkpoint"));
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    throw new JudgeError("checkpoint", {
      found: `${name} is not JSON`,
      remedy: "restore it from the original",
      cause: error,
    });
  }
}
