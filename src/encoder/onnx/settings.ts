// The table of an encoder that runs on this machine.
import * as z from "zod";
import { optional, table } from "../../input/settings-table.js";

/** @param folder the schema of a path to a folder */
export function onnxTable(folder: z.ZodType<string, string>) {
  return table({
    type: z.literal("onnx"),
    path: folder.meta({ description: "Folder of `model.onnx` and the tokenizer." }),
    model: optional(z.string().min(1)).meta({
      description: "Name of the model, which is compared with the one in the checkpoint.",
    }),
  });
}
