// Reads a request body as JSON: bounded, as UTF-8, whatever the content type says.
import type { IncomingMessage } from "node:http";
import { type ParseErrorCode, visit } from "jsonc-parser";
import type * as z from "zod";
import { JudgeError } from "../errors.js";

/** Switchyard passes bodies up to this size; a smaller limit here would become an end user's 413. */
export const maxBodyBytes = 32 * 2 ** 20;

/** Malformed bodies up to this size are searched for the place of the fault. */
const maxSearchedLength = 2 ** 20;

/**
 * The parsed body, checked against `schema`.
 *
 * @throws JudgeError `body_too_large` after the upload has been drained, `invalid_json`, `invalid_request`,
 *   `client_gone`
 */
export async function readBody<T>(incoming: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const text = decode(await readBytes(incoming));
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new JudgeError("invalid_json", `the body is not JSON${place(text)}`);
  }
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  throw invalidRequest(result.error);
}

async function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch (error) {
    throw new JudgeError("client_gone", "the client left while it sent the body", { cause: error });
  }
  if (size > maxBodyBytes) {
    throw new JudgeError("body_too_large", `the body has ${size} bytes, wanted at most ${maxBodyBytes}`);
  }
  return Buffer.concat(chunks, size);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new JudgeError("invalid_json", "the body is not UTF-8; send JSON as UTF-8");
  }
}

/** Where JSON goes wrong; names no character of it. */
function place(text: string): string {
  if (text.trim() === "") return ": it is empty";
  if (text.length > maxSearchedLength) return "";
  let found = "";
  try {
    visit(
      text,
      {
        onError: (_code: ParseErrorCode, _offset, _length, line, column) => {
          found ||= `: line ${line + 1}, column ${column + 1}`;
        },
      },
      { disallowComments: true },
    );
  } catch {
    // nested too deep to search; the fault is reported without its place
  }
  return found;
}

/** The first issue as an error with its path in the body, such as `messages[0].content`. */
export function invalidRequest(error: z.ZodError): JudgeError {
  const issue = error.issues[0]!;
  const param = issue.path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index > 0 ? "." : ""}${String(step)}`))
    .join("");
  return new JudgeError(
    "invalid_request",
    `${param || "the body"}: ${issue.message}`,
    param === "" ? {} : { param },
  );
}
