// What a route is: where it stands, who answers, and what the API document says of it.
import type * as z from "zod";
import type { ErrorEnvelope, ErrorStatus } from "./errors.js";
import type { RequestContext } from "./service.js";

/** A schema and its name in the API document. */
export interface NamedSchema<T = unknown> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
}

export interface Route {
  /** its name in the metrics, and its operation's id */
  readonly name: string;
  readonly method: "GET" | "POST";
  /** as the API document writes it; a path behind /v1 is served without that too */
  readonly path: string;
  /** whether it asks for a key where keys are configured */
  readonly isGuarded: boolean;
  /** null: the API document says nothing of it */
  readonly operation: Operation | null;
  handler(context: RequestContext): Response | Promise<Response>;
}

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly request?: NamedSchema & { readonly example?: object };
  /** what an answer holds: JSON of a schema, or what these schemas of other media types say */
  readonly answer: { readonly json?: NamedSchema; readonly others?: Readonly<Record<string, object>> };
  /** descriptions of the answer's headers */
  readonly headers?: Readonly<Record<string, string>>;
  /** statuses beside 200 that have such an answer too */
  readonly answerStatuses?: readonly number[];
  /** refusals beside those that any route may give */
  readonly refusals: readonly ErrorStatus[];
  /** absent: OpenAI's */
  readonly errors?: ErrorEnvelope;
}

/** Refusals of every route that reads a body and needs an encoder. */
export const encoderRefusals: readonly ErrorStatus[] = [404, 413, 415, 429, 503, 504];
