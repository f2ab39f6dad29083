// Refusals: an error as a response, in the log and in the metrics.
import type { JudgeError } from "../errors.js";
import { errorEnvelope, wireForm } from "./errors.js";
import type { RequestContext, Service } from "./service.js";

/** Logs and counts a refusal that no route made; the id for its answer. */
export function recordRefusal(service: Service, error: JudgeError, status: number): string {
  const requestId = service.newId();
  service.log.refused({ requestId, code: error.code, status, fault: null });
  service.metrics.request("other", "refused", status, 0);
  return requestId;
}

/** The response to an error that a route threw. */
export function refuse(service: Service, context: RequestContext, error: JudgeError): Response {
  const { status, retryAfterSeconds } = wireForm(error);
  const { cause } = error;
  const fault = cause instanceof Error ? cause.name : null;
  service.log.refused({ requestId: context.get("facts").id, code: error.code, status, fault });
  context.header("content-type", "application/json");
  if (status === 401) context.header("www-authenticate", "Bearer");
  if (retryAfterSeconds !== undefined) context.header("retry-after", String(retryAfterSeconds));
  return context.newResponse(errorEnvelope(error), status as 500);
}
