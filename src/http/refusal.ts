// Refusals: an error as a response, in the log and in the metrics.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { JudgeError } from "../errors.js";
import type { Protocol } from "../observe/log.js";
import { envelopeOf } from "./apis/apis.js";
import { statusOf } from "./errors.js";
import type { RequestContext, Service } from "./service.js";

/** Logs and counts a refusal that no route made, and gives the request id for its answer. */
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
  const status = statusOf(error);
  const { cause } = error;
  const fault = cause instanceof Error ? cause.name : null;
  const { id } = context.get("facts");
  service.log.refused({ requestId: id, code: error.code, status, fault, protocol: null });
  if (status === 401) context.header("www-authenticate", "Bearer");
  if (status === 429 || status === 503) context.header("retry-after", "1");
  const content = envelopeOf(context.req.path).render(error, status, id);
  return context.json(content, status as ContentfulStatusCode);
}
