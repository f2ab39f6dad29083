// Reads a checkpoint folder: router.json, router.safetensors and, where present, selftest.json and notice.txt.
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { JudgeError } from "../errors.js";
import type { HeadWeights } from "../head/weights.js";
import { parseRouterJson, readRouterTensors } from "./router-json.js";
import { parseSafetensors } from "./safetensors.js";
import { parseSelftest, type Selftest } from "./selftest.js";

/** Larger files are refused before they are read. A head of 40 layers × 8,192 with PCA 300 needs 400 MB. */
const maxFileBytes = 2 ** 30;

export interface Checkpoint {
  readonly folder: string;
  /** SHA-256 over router.json and the tensors, first 16 hex digits */
  readonly hash: string;
  /** SHA-256 (hex) by file name */
  readonly files: Readonly<Record<string, string>>;
  /** the encoder's name as the checkpoint gives it */
  readonly encoderName: string;
  readonly head: HeadWeights;
  readonly selftest: Selftest | null;
  /** one sentence for whoever starts a server with it */
  readonly notice: string | null;
}

/** @throws JudgeError `checkpoint` naming folder, file, finding and remedy */
export async function loadCheckpoint(folder: string): Promise<Checkpoint> {
  try {
    const routerBytes = await readWhole(folder, "router.json");
    const tensorBytes = await readWhole(folder, "router.safetensors");
    const metadata = parseRouterJson(parseJson(routerBytes, "router.json"));
    const selftestBytes = await readWhole(folder, "selftest.json", "optional");
    const notice = await readWhole(folder, "notice.txt", "optional");
    const files = { "router.json": sha256(routerBytes), "router.safetensors": sha256(tensorBytes) };
    return {
      folder,
      hash: sha256(Buffer.from(Object.values(files).join(""))).slice(0, 16),
      files,
      encoderName: metadata.encoder,
      head: readRouterTensors(metadata, parseSafetensors(tensorBytes)),
      selftest: selftestBytes && parseSelftest(parseJson(selftestBytes, "selftest.json")),
      notice: notice === null ? null : notice.toString("utf8").trim(),
    };
  } catch (error) {
    if (!(error instanceof JudgeError)) throw error;
    const finding = error.message.replace(/^safetensors: /, "router.safetensors: ");
    const remedy = finding.includes("; ") ? "" : "; restore the file from the checkpoint's original";
    throw new JudgeError("checkpoint", `checkpoint ${folder}: ${finding}${remedy}`, { cause: error });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function readWhole(folder: string, name: string): Promise<Buffer>;
async function readWhole(folder: string, name: string, presence: "optional"): Promise<Buffer | null>;
async function readWhole(folder: string, name: string, presence?: "optional"): Promise<Buffer | null> {
  const path = join(folder, name);
  try {
    const facts = await stat(path);
    if (!facts.isFile())
      throw new JudgeError(
        "checkpoint",
        `${name} is not a regular file; a checkpoint is a folder with router.json and router.safetensors`,
      );
    if (facts.size > maxFileBytes) {
      throw new JudgeError("checkpoint", `${name} has ${facts.size} bytes, wanted at most ${maxFileBytes}`);
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" && presence === "optional") return null;
    const finding = code === "ENOENT" ? "is missing" : `cannot be read (${code})`;
    throw new JudgeError(
      "checkpoint",
      `${name} ${finding}; a checkpoint is a folder with router.json and router.safetensors`,
      {
        cause: error,
      },
    );
  }
}

function parseJson(bytes: Buffer, name: string): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new JudgeError("checkpoint", `${name} is not JSON; restore it from the original`, { cause: error });
  }
}
