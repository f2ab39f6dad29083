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
  /** answers that are no refusals, by status */
  readonly answers: Readonly<Record<number, Answer>>;
  /** refusals beside those that any route may give */
  readonly refusals: readonly ErrorStatus[];
  readonly errors: ErrorEnvelope;
}

interface Answer {
  readonly description: string;
  readonly json?: NamedSchema;
  /** schemas by media type */
  readonly others?: Readonly<Record<string, object>>;
  /** descriptions by header */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refusals of every route that reads a body and needs an encoder. */
export const encoderRefusals: readonly ErrorStatus[] = [404, 413, 415, 429, 503, 504];
