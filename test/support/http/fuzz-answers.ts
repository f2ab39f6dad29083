// What a good answer to an arbitrary request is: valid by the schemas, or a 4xx in the envelope.
import * as schemas from "../../../src/answer/answer-schema.js";
import { readVerdict } from "../verdict.js";
import type { FuzzRequest } from "./fuzz-requests.js";
import type { RawAnswer } from "./raw-socket.js";

const others = [
  schemas.ModelList,
  schemas.Model,
  schemas.Health,
  schemas.Readiness,
  schemas.ChatCompletion,
  schemas.ScoreAnswer,
];

/** Null for a good answer, else what is wrong with it. */
export function faultOf({ kind, bodiless }: FuzzRequest, answer: RawAnswer | null): string | null {
  if (answer === null) return kind === "bytes" ? null : "no answer";
  const { status, body, headers } = answer;
  if (status >= 400 && status < 500) {
    if (headers["content-type"] !== "application/json") return `${status} that is no JSON`;
    return bodiless || isEnvelope(body) ? null : `${status} that is no envelope: ${body.slice(0, 200)}`;
  }
  // what OPTIONS says of the server as a whole
  if (status === 204) return body === "" && headers.allow ? null : "204 that says nothing";
  if (status !== 200) return `status ${status}: ${body.slice(0, 200)}`;
  if (bodiless) return body === "" ? null : "a body for HEAD";
  try {
    if (kind === "chat") checkChat(answer);
    else if (kind === "score") schemas.ScoreAnswer.parse(JSON.parse(body));
    else if (!body.startsWith("# HELP ") && !body.startsWith('{"openapi":"3.1.0"')) checkOther(body);
    return null;
  } catch (error) {
    return `200 that is not valid: ${String(error).slice(0, 200)} in ${body.slice(0, 200)}`;
  }
}

function isEnvelope(body: string): boolean {
  try {
    return schemas.ErrorAnswer.safeParse(JSON.parse(body)).success;
  } catch {
    return false;
  }
}

function checkChat({ headers, body }: RawAnswer): void {
  if (!headers["content-type"]!.startsWith("text/event-stream")) {
    const completion = schemas.ChatCompletion.parse(JSON.parse(body));
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

function checkOther(body: string): void {
  const content: unknown = JSON.parse(body);
  if (!others.some((schema) => schema.safeParse(content).success)) throw new Error("no schema fits");
}
