// Refusals: an error as a response, in the log and in the metrics.
import type { JudgeError } from "../errors.js";
import { errorEnvelope, messagesErrorEnvelope, wireForm } from "./errors.js";
import { jsonType, type RequestContext, type Service, textAnswer } from "./service.js";

/** The name of the one route whose API is Anthropic's. */
export const messagesRoute = "messages";

/** Logs and counts a refusal that no route made; the id for its answer. */
export function recordRefusal(service: Service, error: JudgeError, status: number): string {
  const requestId = service.newId();
  service.log.refused({ requestId, code: error.code, status, fault: null });
  service.metrics.request("other", "refused", status, 0);
  return requestId;
}

/** The response to an error that a route threw, in the envelope of the route's API. */
export function refuse(service: Service, context: RequestContext, error: JudgeError): Response {
  const { status, retryAfterSeconds } = wireForm(error);
  const { cause } = error;
  const fault = cause instanceof Error ? cause.name : null;
  const { id, headers } = context.get("facts");
  service.log.refused({ requestId: id, code: error.code, status, fault });
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  if (context.get("route") !== messagesRoute) {
    return textAnswer(context, errorEnvelope(error), jsonType, status);
  }
  return textAnswer(context, messagesErrorEnvelope(error, id), jsonType, status);
}
