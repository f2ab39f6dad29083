// A public model's folder, in each of the layouts in use, and the folder of an encoder that is made of it.
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { externalLocations } from "../encoder/external-data.js";
import { JudgeError } from "../errors.js";
import { openRegularFile, readRegularFile } from "../input/regular-file.js";
import { decodeModel, type GraphProto, type ModelProto } from "./onnx-proto.js";
import type { Sizes } from "./sizes.js";
import { wantedFile } from "./wanted-file.js";

export interface ModelFolder {
  readonly path: string;
  /** of the model's file, below the folder */
  readonly file: string;
  readonly model: ModelProto & { graph: GraphProto };
  readonly sizes: Sizes;
  /** what an encoder's folder has beside the model, by name */
  readonly beside: Readonly<Record<string, Uint8Array>>;
  /** SHA-256 (hex) of the model's files, by name */
  readonly hashes: Readonly<Record<string, string>>;
}

const modelFiles = ["model.onnx", "onnx/model.onnx"];
const needed = ["tokenizer.json", "tokenizer_config.json"];
const copied =
  /^(tokenizer\.json|tokenizer_config\.json|config\.json|chat_template\.jinja|LICEN[CS]E.*|NOTICE.*)$/;
const maxModelBytes = 2 ** 31 - 1;
const maxTextBytes = 2 ** 28;

const size = z.int().positive();
const Config = z.looseObject({
  hidden_size: size.optional(),
  n_embd: size.optional(),
  num_attention_heads: size.optional(),
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
});
const GenaiConfig = z.looseObject({
  model: z.looseObject({
    context_length: z.int().positive(),
    pad_token_id: z.int().nonnegative().optional(),
    type: z.string().optional(),
    decoder: z.looseObject({
      hidden_size: size,
      num_hidden_layers: size,
      num_attention_heads: size,
      num_key_value_heads: size,
      head_size: size,
    }),
  }),
});

/**
 * @param file of the model below the folder; absent: model.onnx, else onnx/model.onnx
 * @throws JudgeError `usage` naming what is missing or damaged
 */
export async function readModelFolder(path: string, file?: string): Promise<ModelFolder> {
  const names = await list(path);
  const chosen = file ?? (await firstThere(path, modelFiles));
  const modelPath = join(path, chosen);
  const locations = await externalLocations(modelPath).catch((error) => {
    throw error instanceof JudgeError ? error.withCode("usage") : error;
  });
  const model = decodeModel(await read(modelPath, chosen, maxModelBytes));
  const beside: Record<string, Uint8Array> = {};
  for (const name of names.filter((found) => copied.test(found)))
    beside[name] = await read(join(path, name), name, maxTextBytes);
  const missing = needed.find((name) => beside[name] === undefined);
  if (missing !== undefined) throw lacking(path, missing);
  const { config, sizes } = await readConfig(path, names, beside["config.json"]);
  const folder = dirname(modelPath);
  const hashes = Object.fromEntries(
    await Promise.all(
      [chosen, ...locations.map((name) => join(dirname(chosen), name))].map(
        async (name) => [name, await hashOf(join(path, name), name)] as const,
      ),
    ),
  );
  return {
    path: folder,
    file: chosen,
    model,
    sizes,
    beside: { ...beside, "config.json": config },
    hashes,
  };
}

/** config.json, or what stands for it in the config of onnxruntime-genai. */
async function readConfig(
  path: string,
  names: readonly string[],
  given: Uint8Array | undefined,
): Promise<{ config: Uint8Array; sizes: Sizes }> {
  if (given !== undefined) {
    const found = parse(Config, given, "config.json");
    const { hidden_size: hiddenSize = found.n_embd, num_attention_heads: heads } = found;
    const cacheSize = found.head_dim ?? (hiddenSize ?? 0) / (heads ?? 1);
    const cache = heads === undefined ? null : ([found.num_key_value_heads ?? heads, cacheSize] as const);
    if (hiddenSize !== undefined) return { config: given, sizes: { hiddenSize, cache } };
    throw new JudgeError("usage", {
      found: "config.json has no hidden_size",
      remedy: "take the model's own",
    });
  }
  const name = "genai_config.json";
  if (!names.includes(name)) throw lacking(path, "config.json");
  const { model } = parse(GenaiConfig, await read(join(path, name), name, maxTextBytes), name);
  const { hidden_size: hiddenSize, num_hidden_layers: blocks, ...decoder } = model.decoder;
  const config = {
    model_type: model.type,
    hidden_size: hiddenSize,
    num_hidden_layers: blocks,
    num_attention_heads: decoder.num_attention_heads,
    num_key_value_heads: decoder.num_key_value_heads,
    head_dim: decoder.head_size,
    max_position_embeddings: model.context_length,
    ...(model.pad_token_id !== undefined && { pad_token_id: model.pad_token_id }),
  };
  const cache = [decoder.num_key_value_heads, decoder.head_size] as const;
  const text = `${JSON.stringify(config, null, 2)}\n`;
  return { config: new TextEncoder().encode(text), sizes: { hiddenSize, cache } };
}

function parse<T>(schema: z.ZodType<T>, bytes: Uint8Array, name: string): T {
  let content: unknown = null;
  try {
    content = JSON.parse(new TextDecoder().decode(bytes));
  } catch {}
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  throw new JudgeError("usage", {
    found: `${name} is not a model's`,
    remedy: "fetch it again from where it came",
  });
}

async function list(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new JudgeError("usage", {
      found: `${path} cannot be read (${code})`,
      remedy: "give a model's folder",
      cause,
    });
  }
}

async function firstThere(path: string, files: readonly string[]): Promise<string> {
  for (const file of files) {
    const names = await readdir(join(path, dirname(file))).catch(() => []);
    if (names.some((name) => name === "model.onnx")) return file;
  }
  throw new JudgeError("usage", {
    found: `${path} has neither ${files.join(" nor ")}`,
    remedy: "give --file the model's file in it",
  });
}

function lacking(path: string, name: string): JudgeError {
  return new JudgeError("usage", {
    found: `${path} has no ${name}`,
    remedy: "fetch it from where the model came: an encoder's folder needs it",
  });
}

async function read(path: string, name: string, maxBytes: number): Promise<Uint8Array> {
  return await readRegularFile(wantedFile(path, name, maxBytes));
}

async function hashOf(path: string, name: string): Promise<string> {
  const hash = createHash("sha256");
  const handle = await openRegularFile(wantedFile(path, name, Number.POSITIVE_INFINITY));
  for await (const chunk of handle.createReadStream({ highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
