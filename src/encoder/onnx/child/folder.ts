// Reads an encoder folder: model.onnx beside the files that ../folder.ts reads.
import { join } from "node:path";
import { JudgeError } from "../../../errors.js";
import { openRegularFile } from "../../../input/regular-file.js";
import {
  fileOf,
  listDecidingFiles,
  listFolder,
  modelFileName,
  readTokenizerFolder,
  type TokenizerFolder,
} from "../../folder.js";

export interface EncoderFolder extends TokenizerFolder {
  readonly modelFile: string;
}

/** @throws JudgeError `encoder` naming the file that is missing or wrong */
export async function readEncoderFolder(folder: string): Promise<EncoderFolder> {
  if (!(await listFolder(folder)).includes(modelFileName)) {
    throw new JudgeError("encoder", {
      found: `no ${modelFileName} in the encoder folder: ${folder}`,
      remedy: "set the encoder's path to the folder that holds it",
    });
  }
  // onnxruntime opens model.onnx and what it names by itself, and would wait at a pipe for ever
  for (const name of await listDecidingFiles(folder)) {
    await (await openRegularFile(fileOf(folder, name, Number.POSITIVE_INFINITY))).close();
  }
  return { ...(await readTokenizerFolder(folder)), modelFile: join(folder, modelFileName) };
}
