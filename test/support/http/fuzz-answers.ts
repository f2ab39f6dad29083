// What a good answer to an arbitrary request is: valid by the schemas, or a 4xx in the envelope.
import { apis } from "../../../src/http/apis/apis.js";
import { ChatCompletion } from "../../../src/http/apis/chat.js";
import { ErrorAnswer } from "../../../src/http/errors.js";
import { ScoreAnswer } from "../../../src/http/score-route.js";
import { Health, Model, ModelList, Readiness } from "../../../src/http/status-routes.js";
import { readVerdict } from "../verdict.js";
import type { FuzzRequest } from "./fuzz-requests.js";
import type { RawAnswer } from "./raw-socket.js";

const others = [ModelList, Model, Health, Readiness, ScoreAnswer, ...apis.map(({ answer }) => answer.schema)];

/** Null for a good answer, else what is wrong with it. */
export function faultOf({ kind, bodiless }: FuzzRequest, answer: RawAnswer | null): string | null {
  if (answer === null) return kind === "bytes" ? null : "no answer";
  const { status, body, headers } = answer;
  if (status >= 400 && status < 500) {
    if (headers["content-type"] !== "application/json") return `${status} that is no JSON`;
    return bodiless || isEnvelope(kind, body) ? null : `${status} that is no envelope: ${body.slice(0, 200)}`;
  }
  // what OPTIONS says of the server as a whole
  if (status === 204) return body === "" && headers.allow ? null : "204 that says nothing";
  if (status !== 200) return `status ${status}: ${body.slice(0, 200)}`;
  if (bodiless) return body === "" ? null : "a body for HEAD";
  try {
    if (kind === "chat") checkChat(answer);
    else if (kind === "score") ScoreAnswer.parse(JSON.parse(body));
    else if (apis.some(({ name }) => name === kind)) checkApi(kind, answer);
    else if (!body.startsWith("# HELP ") && !body.startsWith('{"openapi":"3.1.0"')) checkOther(body);
    return null;
  } catch (error) {
    return `200 that is not valid: ${String(error).slice(0, 200)} in ${body.slice(0, 200)}`;
  }
}

/** A path of an API has that API's envelope; any other path may have been one of any API. */
function isEnvelope(kind: FuzzRequest["kind"], body: string): boolean {
  const own = apis.find(({ name }) => name === kind)?.errors.schema;
  const schemas = own === undefined ? [ErrorAnswer, ...apis.map(({ errors }) => errors.schema)] : [own];
  try {
    const content: unknown = JSON.parse(body);
    return schemas.some((schema) => schema.safeParse(content).success);
  } catch {
    return false;
  }
}

function checkChat({ headers, body }: RawAnswer): void {
  if (!headers["content-type"]!.startsWith("text/event-stream")) {
    const completion = ChatCompletion.parse(JSON.parse(body));
    for (const choice of completion.choices) readVerdict(choice.message.content);
    return;
  }
  const events = body.trimEnd().split("\n\n");
  if (events.pop() !== "data: [DONE]") throw new Error("a stream without its end");
  const chunks = events.map((event) => JSON.parse(event.replace(/^data: /, "")));
  const contents = chunks.map((chunk) => chunk.choices[0]?.delta.content).filter(Boolean);
  if (contents.length === 0) throw new Error("a stream without content");
  for (const content of contents) readVerdict(content);
}

function checkApi(kind: FuzzRequest["kind"], { headers, body }: RawAnswer): void {
  if (!headers["content-type"]!.startsWith("text/event-stream")) {
    apis.find(({ name }) => name === kind)!.answer.schema.parse(JSON.parse(body));
    return;
  }
  for (const event of body.trimEnd().split("\n\n")) {
    const [, name, data] = /^event: (\S+)\ndata: (.+)$/.exec(event)!;
    if ((JSON.parse(data!) as { type: string }).type !== name) throw new Error("an event of two names");
  }
}

function checkOther(body: string): void {
  const content: unknown = JSON.parse(body);
  if (!others.some((schema) => schema.safeParse(content).success)) throw new Error("no schema fits");
}
