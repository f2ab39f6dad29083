// What each error code becomes on the wire: one table, and the error envelopes of OpenAI and Anthropic.
import type { ErrorCode, JudgeError } from "../errors.js";

interface WireForm {
  readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 426 | 429 | 499 | 500 | 503 | 504;
  readonly type: "invalid_request_error" | "server_error";
  readonly retryAfterSeconds?: number;
}

const malformed: WireForm = { status: 400, type: "invalid_request_error" };
const broken: WireForm = { status: 500, type: "server_error" };

const wireForms: Readonly<Record<ErrorCode, WireForm>> = {
  invalid_json: malformed,
  invalid_request: malformed,
  model_not_found: { status: 404, type: "invalid_request_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  upgrade_required: { status: 426, type: "invalid_request_error" },
  body_too_large: { status: 413, type: "invalid_request_error" },
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  request_timeout: { status: 408, type: "invalid_request_error" },
  invalid_api_key: { status: 401, type: "invalid_request_error" },
  host_not_allowed: { status: 403, type: "invalid_request_error" },
  origin_not_allowed: { status: 403, type: "invalid_request_error" },
  reload_failed: { status: 409, type: "invalid_request_error" },
  overloaded: { status: 429, type: "server_error", retryAfterSeconds: 1 },
  deadline: { status: 504, type: "server_error" },
  encoder_down: { status: 503, type: "server_error", retryAfterSeconds: 1 },
  encoder_error: { status: 503, type: "server_error", retryAfterSeconds: 1 },
  client_gone: { status: 499, type: "invalid_request_error" },
  config: broken,
  checkpoint: broken,
  encoder: broken,
  listen: broken,
  usage: broken,
  internal: broken,
};

export function wireForm(error: JudgeError): WireForm {
  return wireForms[error.code];
}

/** `{"error": {message, type, param, code}}`. */
export function errorEnvelope(error: JudgeError): string {
  const { type } = wireForm(error);
  return JSON.stringify({ error: { message: error.message, type, param: error.param, code: error.code } });
}

/** Anthropic's names for what a status says. */
const messagesErrorTypes: Readonly<Record<WireForm["status"], string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  415: "invalid_request_error",
  426: "invalid_request_error",
  429: "rate_limit_error",
  499: "invalid_request_error",
  500: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
};

/** Anthropic's `{"type": "error", "error": {type, message}, "request_id"}`. */
export function messagesErrorEnvelope(error: JudgeError, requestId: string): string {
  const type = messagesErrorTypes[wireForm(error).status];
  return JSON.stringify({ type: "error", error: { type, message: error.message }, request_id: requestId });
}
