// Which other files an ONNX model keeps weights in. Reads the protobuf of onnx.proto, not the weights.
import { posix } from "node:path";
import { JudgeError } from "../errors.js";
import { openRegularFile } from "../input/regular-file.js";

type Message = keyof typeof messages;

/** By message, the fields on the way to a tensor. */
const messages = {
  model: { 7: "graph", 20: "training", 25: "function" },
  training: { 1: "graph", 2: "graph" },
  function: { 7: "node", 11: "attribute" },
  graph: { 1: "node", 5: "tensor", 15: "sparse" },
  node: { 5: "attribute" },
  attribute: { 5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse" },
  sparse: { 1: "tensor", 2: "tensor" },
  tensor: { 13: "entry" },
  entry: {},
} as const;

const tensorLocationField = 14;
const externalLocation = 1;
/** by the kind of a field, where the kind tells it */
const fixedBytes: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const windowBytes = 1 << 16;
/** A tag and a length: two numbers of 10 bytes at most. */
const headBytes = 20;
const longestText = 4096;
const deepest = 100;

/**
 * The names of those files, relative to the model's folder, each once and sorted.
 * @throws JudgeError `encoder` for a file that is no ONNX model, or names a file outside its folder
 */
export async function externalLocations(modelFile: string): Promise<string[]> {
  const handle = await openRegularFile({
    path: modelFile,
    name: "model.onnx",
    code: "encoder",
    remedy: "restore it from the encoder's original files",
    maxBytes: Number.POSITIVE_INFINITY,
  });
  try {
    const { size } = await handle.stat();
    const window = { bytes: Buffer.alloc(windowBytes), start: 0, end: 0 };
    const load = async (at: number) => {
      const { bytesRead } = await handle.read(window.bytes, 0, windowBytes, at);
      window.start = at;
      window.end = at + bytesRead;
    };
    const found = await findLocations({ window, load, size });
    for (const name of found) checkLocation(name);
    return [...found].sort();
  } finally {
    await handle.close();
  }
}

/** A file, of which a part lies in memory. */
interface Source {
  readonly window: { readonly bytes: Buffer; start: number; end: number };
  /** Moves the window to a place of the file. */
  load(at: number): Promise<void>;
  readonly size: number;
}

/** Of the tensor or entry that is read. */
interface Facts {
  readonly locations: string[];
  isExternal: boolean;
  key: string;
  value: string;
}

/** Reads a file's numbers and texts at a place that moves. */
function createCursor({ window, load, size }: Source) {
  let at = 0;

  /** Makes the next bytes, as far as the file has them, lie in the window. */
  async function need(count: number): Promise<void> {
    const end = Math.min(at + count, size);
    if (at < window.start || end > window.end) await load(at);
    if (end > window.end) throw damaged();
  }

  return {
    need,
    get at() {
      return at;
    },
    moveTo(place: number) {
      at = place;
    },
    /** Of the window: to be asked for after `need`. */
    number(): number {
      let value = 0;
      for (let factor = 1; factor < 2 ** 70; factor *= 128) {
        if (at >= window.end) throw damaged();
        const byte = window.bytes[at++ - window.start]!;
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
      throw damaged();
    },
    async text(length: number): Promise<string> {
      if (length > longestText) throw damaged();
      await need(length);
      const start = at - window.start;
      return window.bytes.toString("utf8", start, start + length);
    },
  };
}

async function findLocations(source: Source): Promise<Set<string>> {
  const found = new Set<string>();
  const cursor = createCursor(source);

  /** The content of a field that is no number. */
  async function enter(message: Message, field: number, end: number, facts: Facts, depth: number) {
    const inner = (messages[message] as Readonly<Record<number, Message>>)[field];
    if (inner !== undefined) await walk(inner, end, inner === "entry" ? facts : noFacts(), depth + 1);
    if (inner === "entry" && facts.key === "location") facts.locations.push(facts.value);
    if (message === "entry" && field === 1) facts.key = await cursor.text(end - cursor.at);
    if (message === "entry" && field === 2) facts.value = await cursor.text(end - cursor.at);
  }

  async function walk(message: Message, end: number, facts: Facts, depth: number): Promise<void> {
    if (depth > deepest) throw damaged();
    while (cursor.at < end) {
      await cursor.need(headBytes);
      const tag = cursor.number();
      const [field, kind] = [Math.floor(tag / 8), tag % 8];
      if (kind === 0) {
        const value = cursor.number();
        if (message === "tensor" && field === tensorLocationField)
          facts.isExternal = value === externalLocation;
      } else {
        const length = kind === 2 ? cursor.number() : fixedBytes[kind];
        const next = cursor.at + (length ?? Number.POSITIVE_INFINITY);
        if (next > end) throw damaged();
        if (kind === 2) await enter(message, field, next, facts, depth);
        cursor.moveTo(next);
      }
    }
    if (cursor.at !== end) throw damaged();
    if (message === "tensor" && facts.isExternal) for (const name of facts.locations) found.add(name);
  }

  await walk("model", source.size, noFacts(), 0);
  return found;
}

function noFacts(): Facts {
  return { locations: [], isExternal: false, key: "", value: "" };
}

function damaged(): JudgeError {
  return new JudgeError("encoder", {
    found: "model.onnx is no whole ONNX model: damaged, or cut off",
    remedy: "restore it from the encoder's original files",
  });
}

function checkLocation(name: string): void {
  const isPlain = name === posix.normalize(name) && !posix.isAbsolute(name) && !/^\.{0,2}(\/|$)/.test(name);
  if (isPlain) return;
  throw new JudgeError("encoder", {
    found: `model.onnx keeps weights in ${JSON.stringify(name)}`,
    wanted: `a file of its own folder, such as "weights.bin"`,
    remedy: "save the model again with its weights beside it",
  });
}
