// What one chat API is, for the server, its API document and its tests. apis.ts lists them.
import type { Judged } from "../../answer/answer-facts.js";
import type { AnswerFormat } from "../../answer/answer-format.js";
import type { ApiName } from "../../answer/served-apis.js";
import type { Message } from "../../prompt/message.js";
import type { ErrorEnvelope } from "../errors.js";
import type { NamedSchema } from "../route.js";
import type { RequestContext, Service } from "../service.js";

/** A request in the words that all APIs share. */
export interface ChatRequestParts {
  readonly model: string | null | undefined;
  readonly messages: readonly Message[];
  readonly format: AnswerFormat | null;
  /** whether the conversation began in another request, whose messages are not here */
  readonly isContinued: boolean;
  readonly isStream: boolean;
}

/** What an answer is rendered from. */
export interface AnswerParts<Request> {
  readonly request: Request;
  /** unique */
  readonly id: string;
  /** seconds since 1970 */
  readonly created: number;
  readonly judged: Judged;
  /** the assistant's message: the verdict's JSON */
  readonly text: string;
}

export interface Api<Request = unknown> {
  /** its route's name in the metrics and in the API document too */
  readonly name: ApiName;
  readonly request: NamedSchema<Request>;
  readonly answer: NamedSchema;
  readonly errors: ErrorEnvelope;
  /** a header that holds the request id, beside x-request-id; null: none */
  readonly requestIdHeader: string | null;
  readonly summary: string;
  /** what is special about it, its stream among that */
  readonly description: string;
  /** what the data of one event of its stream is */
  readonly event: string;
  /** The smallest request about a text. */
  example(text: string): object;
  read(request: Request): ChatRequestParts;
  render(parts: AnswerParts<Request>): object;
  /** The server-sent events of a streamed answer. */
  renderStream(parts: AnswerParts<Request>): string;
  /** what takes the same request at a path below */
  readonly below: readonly SubPath<Request>[];
}

interface SubPath<Request> {
  readonly name: string;
  /** begins with a slash */
  readonly path: string;
  readonly summary: string;
  readonly answer: NamedSchema;
  respond(service: Service, context: RequestContext, request: Request): Promise<object>;
}

/** Server-sent events with a name and JSON data, which repeats the name as its type. */
export function namedEvents(events: readonly (readonly [type: string, rest: object])[]): string {
  return events
    .map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
    .join("");
}
