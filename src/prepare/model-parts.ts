// The files of a model that is written: its message, and the weights that lay beside the source's.
import { join } from "node:path";
import { JudgeError } from "../errors.js";
import { openRegularFile } from "../input/regular-file.js";
import { encodeModel, type GraphProto, type ModelProto, numberOf, type TensorProto } from "./onnx-proto.js";
import { wantedFile } from "./wanted-file.js";

/** The file in which weights lie that are too much for one message. */
const dataFile = "model.onnx.data";
const alignment = 64;

/**
 * The files of a model: its message, and its weights where they lie beside the source's.
 * @param folder of the source's model
 */
export async function* modelParts(
  { graph, ...model }: ModelProto & { graph: GraphProto },
  folder: string,
): AsyncGenerator<{ readonly name: string; readonly bytes: Uint8Array }> {
  let end = 0;
  const initializer: TensorProto[] = [];
  for (const tensor of graph.initializer) {
    if (tensor.dataLocation !== 1) {
      initializer.push(tensor);
      continue;
    }
    const bytes = await readExternal(tensor, folder);
    const padding = (alignment - (end % alignment)) % alignment;
    yield { name: dataFile, bytes: Buffer.concat([Buffer.alloc(padding), bytes]) };
    const externalData = [
      { key: "location", value: dataFile },
      { key: "offset", value: String(end + padding) },
      { key: "length", value: String(bytes.length) },
    ];
    initializer.push({ ...tensor, externalData });
    end += padding + bytes.length;
  }
  yield { name: "model.onnx", bytes: encodeModel({ ...model, graph: { ...graph, initializer } }) };
}

async function readExternal({ name = "", externalData = [], dims = [] }: TensorProto, folder: string) {
  const entry = (key: string) => externalData.find((each) => each.key === key)?.value;
  const location = entry("location") ?? "";
  const offset = Number(entry("offset") ?? 0);
  const handle = await openRegularFile(
    wantedFile(join(folder, location), location, Number.POSITIVE_INFINITY),
  );
  try {
    const length = Number(entry("length") ?? (await handle.stat()).size - offset);
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(bytes, 0, length, offset);
    if (bytesRead === length) return bytes;
    throw new JudgeError("usage", {
      found: `${location} ends before the weight ${name} [${dims.map(numberOf)}]`,
      remedy: "fetch it again from where it came",
    });
  } finally {
    await handle.close();
  }
}
