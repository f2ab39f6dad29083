// Reads what tells a model's tokens from its folder, the chat template included.
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { decodeText } from "../input/decode-text.js";
import { openRegularFile, readRegularFile, type WantedFile } from "../input/regular-file.js";
import { externalLocations } from "./external-data.js";
import type { TokenizerFiles } from "./tokenizer/tokenizer.js";

/** of a tokenizer's file; the largest known has 35 MB */
const maxTextBytes = 2 ** 28;
const TokenizerConfig = z.looseObject({
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .nullish(),
  model_max_length: z.number().nullish(),
});
const TokenizerJson = z.looseObject({
  model: z.looseObject({}),
  added_tokens: z
    .array(z.looseObject({ id: z.int(), content: z.string().min(1), special: z.boolean() }))
    .optional(),
});
const ModelConfig = z.looseObject({
  max_position_embeddings: z.int().positive().nullish(),
  num_hidden_layers: z.int().positive().nullish(),
  pad_token_id: z.int().nonnegative().nullish(),
});

export interface TokenizerFolder {
  readonly tokenizer: TokenizerFiles;
  /** the smaller of the tokenizer's and the model's limit */
  readonly maxTokens: number;
  readonly padId: number;
  /** blocks of the model; null where config.json does not say */
  readonly blockCount: number | null;
}

/** @throws JudgeError `encoder` naming the file that is missing or wrong */
export async function readTokenizerFolder(folder: string): Promise<TokenizerFolder> {
  const names = await listFolder(folder);
  const tokenizer = await readJson(folder, "tokenizer.json", TokenizerJson);
  const config = await readJson(folder, "tokenizer_config.json", TokenizerConfig);
  const model = await readJson(folder, "config.json", ModelConfig);
  const chatTemplate = names.includes("chat_template.jinja")
    ? decodeText(
        await readRegularFile(fileOf(folder, "chat_template.jinja", maxTextBytes)),
        "chat_template.jinja",
        "encoder",
      )
    : defaultTemplate(config.chat_template);
  const limits = [config.model_max_length, model.max_position_embeddings].filter(
    (limit) => typeof limit === "number",
  );
  return {
    tokenizer: { tokenizer, config, chatTemplate } as TokenizerFiles,
    maxTokens: Math.min(...limits, Number.MAX_SAFE_INTEGER),
    padId: model.pad_token_id ?? 0,
    blockCount: model.num_hidden_layers ?? null,
  };
}

/** A file of the folder, for messages and for whoever opens it. */
export function fileOf(folder: string, name: string, maxBytes: number): WantedFile {
  const remedy = "restore it from the encoder's original files, or take it out where the model has none";
  return { path: join(folder, name), name, code: "encoder", remedy, maxBytes };
}

export const modelFileName = "model.onnx";

/**
 * The sorted names of the files that decide a result, those of the weights included.
 * @throws JudgeError `encoder` for a folder or model.onnx that cannot be read
 */
export async function listDecidingFiles(folder: string): Promise<string[]> {
  const names = await listFolder(folder);
  const weights = names.includes(modelFileName) ? await externalLocations(join(folder, modelFileName)) : [];
  const known = names.filter((name) => /\.(onnx|onnx[._]data|json|jinja)$/.test(name));
  return [...new Set([...known, ...weights])].sort();
}

/** SHA-256 (hex) of every file in the folder that decides a result. */
export async function hashEncoderFolder(folder: string): Promise<Record<string, string>> {
  const names = await listDecidingFiles(folder);
  const hashes: Record<string, string> = {};
  for (const name of names) {
    const hash = createHash("sha256");
    // the stream closes it
    const handle = await openRegularFile(fileOf(folder, name, Number.POSITIVE_INFINITY));
    await pipeline(handle.createReadStream({ highWaterMark: 1 << 20 }), hash);
    hashes[name] = hash.digest("hex");
  }
  return hashes;
}

/** Changes with every file among them, unless one is written again within the file system's clock tick. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    paths.map(async (path) => {
      try {
        const { mtimeMs, size, ino } = await stat(path);
        return `${path} ${mtimeMs} ${size} ${ino}`;
      } catch {
        return `${path} -`;
      }
    }),
  );
  return lines.join("\n");
}

/** The stamp of every file in the folder that decides a result. */
export async function stampEncoderFolder(folder: string): Promise<string> {
  return await stampOf((await listDecidingFiles(folder)).map((name) => join(folder, name)));
}

/**
 * SHA-256 over the files' hashes, first 16 hex digits.
 * @param settings what else decides a result
 */
export function hashOf(files: Readonly<Record<string, string>>, settings: readonly string[] = []): string {
  const lines = Object.entries(files).map(([name, hash]) => `${hash}  ${name}\n`);
  return createHash("sha256")
    .update([...lines, ...settings].join(""))
    .digest("hex")
    .slice(0, 16);
}

/** @throws JudgeError `encoder` when there is no such folder */
export async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw new JudgeError("encoder", {
      found: `the encoder folder cannot be read: ${folder} (${(error as NodeJS.ErrnoException).code})`,
      remedy:
        "set the encoder's path to a folder with tokenizer.json, and with model.onnx where the model runs here",
      cause: error,
    });
  }
}

async function readJson<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T> {
  const bytes = await readRegularFile(fileOf(folder, name, maxTextBytes));
  let content: unknown;
  try {
    content = JSON.parse(decodeText(bytes, name, "encoder"));
  } catch (error) {
    if (error instanceof JudgeError) throw error;
    throw new JudgeError("encoder", {
      found: `${name} is not JSON`,
      remedy: "restore it from the encoder's original files",
      cause: error,
    });
  }
  const result = schema.safeParse(content);
  if (!result.success) {
    const issue = result.error.issues[0]!;
    const place = issue.path.join(".") || "the file";
    throw new JudgeError("encoder", {
      found: `${name}: ${place}: ${issue.message}`,
      remedy: "restore it from the encoder's original files",
    });
  }
  return result.data;
}

function defaultTemplate(template: z.infer<typeof TokenizerConfig>["chat_template"]): string | null {
  if (typeof template === "string") return template;
  return template?.find((entry) => entry.name === "default")?.template ?? null;
}
