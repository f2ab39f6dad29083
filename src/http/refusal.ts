// Refusals: an error as a response, in the log and in the metrics.
import type { JudgeError } from "../errors.js";
import type { Protocol } from "../observe/log.js";
import { errorEnvelope, messagesErrorEnvelope, wireForm } from "./errors.js";
import { jsonType, type RequestContext, type Service, textAnswer } from "./service.js";

/** Whether a path is of Anthropic's API, one that we do not have included. */
export function isMessagesPath(path: string): boolean {
  return /^\/+(v1\/+)*messages(\/|$)/.test(path);
}

/** Logs and counts a refusal that no route made; the id for its answer. */
export function recordRefusal(
  service: Service,
  error: JudgeError,
  status: number,
  protocol?: Protocol,
): string {
  const requestId = service.newId();
  service.log.refused({ requestId, code: error.code, status, fault: null, protocol: protocol ?? null });
  service.metrics.request("other", "refused", status, 0);
  return requestId;
}

/** The response to an error, in the envelope of the path's API. */
export function refuse(service: Service, context: RequestContext, error: JudgeError): Response {
  const { status, retryAfterSeconds } = wireForm(error);
  const { cause } = error;
  const fault = cause instanceof Error ? cause.name : null;
  const { id, headers } = context.get("facts");
  service.log.refused({ requestId: id, code: error.code, status, fault, protocol: null });
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  if (!isMessagesPath(context.req.path)) {
    return textAnswer(context, errorEnvelope(error), jsonType, status);
  }
  return textAnswer(context, messagesErrorEnvelope(error, id), jsonType, status);
}
