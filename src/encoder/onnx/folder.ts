// Reads an encoder folder: model.onnx beside the files that ../folder.ts reads.
import { join } from "node:path";
import { JudgeError } from "../../errors.js";
import { listFolder, readTokenizerFolder, type TokenizerFolder } from "../folder.js";

export const modelFileName = "model.onnx";

export interface EncoderFolder extends TokenizerFolder {
  readonly modelFile: string;
}

/** @throws JudgeError `encoder` naming the file that is missing or wrong */
export async function readEncoderFolder(folder: string): Promise<EncoderFolder> {
  if (!(await listFolder(folder)).includes(modelFileName)) {
    throw new JudgeError(
      "encoder",
      `no ${modelFileName} in the encoder folder; set the encoder's path to the folder that holds it`,
    );
  }
  return { ...(await readTokenizerFolder(folder)), modelFile: join(folder, modelFileName) };
}
