// What each error becomes on the wire: one table of statuses for all envelopes and the API document.
import * as z from "zod";
import type { ErrorCode, JudgeError } from "../errors.js";

interface Words {
  /** Anthropic's type */
  readonly type: string;
  /** for the API document */
  readonly meaning: string;
}

const invalid = "invalid_request_error";
const unlessError = 'a judgement abstains instead, unless on_failure = "error"';

const statuses = {
  400: { type: invalid, meaning: "Malformed: not HTTP, not JSON, a wrong type, no messages." },
  401: { type: "authentication_error", meaning: "Keys are configured and none of them was given." },
  403: {
    type: "permission_error",
    meaning: "From a web page of another origin, or to a Host that is not this server's.",
  },
  404: { type: "not_found_error", meaning: "Unknown model." },
  405: { type: invalid, meaning: "This path takes another method, which the header allow names." },
  408: { type: "timeout_error", meaning: "The request was not complete in time." },
  409: { type: "conflict_error", meaning: "The new judges cannot serve; those in service stay." },
  413: { type: "request_too_large", meaning: "The body is over the limit." },
  415: { type: invalid, meaning: "Compressed, or another charset than UTF-8." },
  417: { type: invalid, meaning: "The header expect asks for something unknown." },
  426: { type: invalid, meaning: "A WebSocket was asked for, and there is none." },
  429: { type: "rate_limit_error", meaning: `More is asked than can be done; ${unlessError}.` },
  431: { type: invalid, meaning: "The headers are over the limit." },
  499: { type: invalid, meaning: "The client has left." },
  500: { type: "api_error", meaning: "A bug of the judge." },
  503: {
    type: "overloaded_error",
    meaning: `All connections are busy. Or the encoder is down or failed; ${unlessError}.`,
  },
  504: { type: "timeout_error", meaning: `No result before the deadline; ${unlessError}.` },
} as const satisfies Readonly<Record<number, Words>>;
export type ErrorStatus = keyof typeof statuses;

const statusByCode: Readonly<Record<ErrorCode, ErrorStatus>> = {
  invalid_json: 400,
  invalid_request: 400,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  upgrade_required: 426,
  body_too_large: 413,
  unsupported_media_type: 415,
  request_timeout: 408,
  invalid_api_key: 401,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  reload_failed: 409,
  overloaded: 429,
  deadline: 504,
  encoder_down: 503,
  encoder_error: 503,
  client_gone: 499,
  config: 500,
  checkpoint: 500,
  encoder: 500,
  listen: 500,
  usage: 500,
  internal: 500,
};

/** The status of an error that a route throws. A connection may be refused with another one. */
export function statusOf({ code }: JudgeError): ErrorStatus {
  return statusByCode[code];
}

export function wordsOf(status: ErrorStatus): Words {
  return statuses[status];
}

/** OpenAI's type. */
function openAiType(status: ErrorStatus): "invalid_request_error" | "server_error" {
  return status === 429 || status >= 500 ? "server_error" : invalid;
}

/** How one API writes its errors. */
export interface ErrorEnvelope {
  /** of its schema in the API document */
  readonly name: string;
  readonly schema: z.ZodType;
  render(error: JudgeError, status: ErrorStatus, requestId: string): object;
}

export const ErrorAnswer = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/** OpenAI's envelope, which every path has but those of an API with an envelope of its own. */
export const openAiEnvelope: ErrorEnvelope = {
  name: "Error",
  schema: ErrorAnswer,
  render: ({ message, param, code }, status) => ({
    error: { message, type: openAiType(status), param, code },
  }),
};
