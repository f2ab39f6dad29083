// Checks the parsed content of one of a checkpoint's JSON files against its schema.
import type * as z from "zod";
import { JudgeError } from "../errors.js";

/** @throws JudgeError `checkpoint` that names the file and the first field that is wrong */
export function parseJsonPart<T>(
  schema: z.ZodType<T>,
  content: unknown,
  { file, remedy }: { readonly file: string; readonly remedy?: string },
): T {
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const found = `${path.join(".") || "the file"}: ${message}`;
  throw new JudgeError("checkpoint", { place: file, found, remedy });
}
