// Reads a request body as JSON: bounded in values, as UTF-8.
import type { IncomingMessage } from "node:http";
import { type ParseErrorCode, visit } from "jsonc-parser";
import type * as z from "zod";
import { JudgeError } from "../../errors.js";
import { hasMoreValuesThan } from "./json-size.js";
import { type BodyLimits, readUpload } from "./upload.js";

/** A router's request has some hundred values, a conversation of a million tokens tens of thousands. */
const maxValues = 100_000;
/** Malformed bodies up to this size are searched for the place of the fault. */
const maxSearchedLength = 2 ** 20;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The parsed body, checked against `schema`.
 * @throws JudgeError `body_too_large` after the upload has been drained, `request_timeout`, `invalid_json`,
 *   `invalid_request`, `unsupported_media_type`, `client_gone`
 */
export async function readBody<T>(
  incoming: IncomingMessage,
  schema: z.ZodType<T>,
  limits: BodyLimits,
): Promise<T> {
  checkCoding(incoming);
  const bytes = await readUpload(incoming, limits);
  if (hasMoreValuesThan(bytes, maxValues)) {
    throw new JudgeError("invalid_request", {
      found: `the body has more than ${maxValues} values`,
      wanted: "at most that many",
    });
  }
  const text = decode(bytes);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new JudgeError("invalid_json", { found: `the body is not JSON${place(text)}` });
  }
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  throw invalidRequest(result.error);
}

/** @throws JudgeError `unsupported_media_type` for a compressed body, or a charset other than UTF-8 */
function checkCoding({ headers }: IncomingMessage): void {
  const coding = headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() !== "identity") {
    throw new JudgeError("unsupported_media_type", {
      found: "found a content-encoding",
      wanted: "the JSON uncompressed",
    });
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers["content-type"] ?? "")?.[1] ?? "utf-8";
  if (!/^(utf-?8|us-ascii)$/i.test(charset)) {
    throw new JudgeError("unsupported_media_type", {
      found: "found another charset",
      wanted: "JSON as UTF-8",
    });
  }
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new JudgeError("invalid_json", { found: "the body is not UTF-8", remedy: "send JSON as UTF-8" });
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
    // too deep to search, so the fault is reported without its place
  }
  return found;
}

/** The first issue as an error with its path in the body, such as `messages[0].content`. */
export function invalidRequest(error: z.ZodError): JudgeError {
  const issue = error.issues[0]!;
  const param = issue.path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index > 0 ? "." : ""}${String(step)}`))
    .join("");
  // zod's own message repeats the key
  const finding = issue.code === "unrecognized_keys" ? "holds a key that is not known here" : issue.message;
  return new JudgeError("invalid_request", {
    found: `${param || "the body"}: ${finding}`,
    param: param || null,
  });
}
