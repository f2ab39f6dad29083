// Arbitrary requests: random JSON, changed valid bodies, odd methods, paths and headers, bytes that are
// nothing.
import fc from "fast-check";
import type { ApiName } from "../../../src/answer/served-apis.js";
import { apis } from "../../../src/http/apis/apis.js";
import { pathsOfApi } from "./api-requests.js";
import { headers, host, method, path, toBytes } from "./fuzz-heads.js";

export interface FuzzRequest {
  /** how it was made, and what a good answer to it is checked by */
  readonly kind: ApiName | "score" | "any" | "bytes";
  readonly bytes: Buffer;
  /** a HEAD request: its answer has no body */
  readonly bodiless: boolean;
}

const text = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("", " ", "\u200b", "Hi", "What is 2+2?", "\ud800", "\0", "<|im_end|>", "word ".repeat(600)),
);
const part = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("text"), text }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("image_url", "input_audio", "file") }) },
);
const message = fc.record(
  {
    role: fc.constantFrom("user", "user", "system", "developer", "assistant", "tool"),
    content: fc.oneof(text, fc.array(part, { maxLength: 4 }), fc.constant(null)),
    name: text,
  },
  { requiredKeys: ["role"] },
);
const chatBody = fc.record(
  {
    model: fc.constantFrom("tiny", "judge", "org/judge", "nobody", "__proto__"),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
    stream: fc.boolean(),
    stream_options: fc.record({ include_usage: fc.boolean() }, { requiredKeys: [] }),
    n: fc.integer({ min: 1, max: 9 }),
    temperature: fc.double(),
    response_format: fc.json({ maxDepth: 2 }).map((json) => JSON.parse(json)),
    logprobs: fc.boolean(),
  },
  { requiredKeys: ["messages"] },
);
const scoreBody = fc.record(
  {
    model: fc.constantFrom("tiny", "judge", "nobody"),
    prompts: fc.array(text, { minLength: 0, maxLength: 6 }),
  },
  { requiredKeys: ["prompts"] },
);

/** A valid value with something in it replaced, added or left out. */
function changed(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(valid, fc.nat(), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("replace", "add", "remove"))
    .map(([value, seed, other, how]) => {
      const copy = structuredClone(value);
      const places = containersIn(copy);
      const container = places[seed % places.length] as Record<string, unknown>;
      const keys = Object.keys(container);
      const name = keys[seed % Math.max(1, keys.length)] ?? "x";
      if (how === "remove") delete container[name];
      else container[how === "add" && !Array.isArray(container) ? `x${seed}` : name] = other;
      return copy;
    });
}

function containersIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(containersIn)];
}

/** JSON text, now and then broken by one character. */
const jsonText = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.nat(), fc.constantFrom("", "", "", "", "}", '"', "\0", ",", "\\"))
    .map(([content, seed, wrong]) => {
      const json = JSON.stringify(content) ?? "null";
      const at = seed % (json.length + 1);
      return wrong === "" ? json : json.slice(0, at) + wrong + json.slice(at);
    });

const framing = fc.constantFrom("length", "length", "chunks") as fc.Arbitrary<"length" | "chunks">;
const post = (kind: ApiName | "score", paths: readonly string[], body: fc.Arbitrary<Buffer>) =>
  fc
    .record({ method: fc.constant("POST"), path: fc.constantFrom(...paths), host, headers, body, framing })
    .map((parts): FuzzRequest => ({ kind, bytes: toBytes(parts), bodiless: false }));

const asBytes = (body: fc.Arbitrary<string>) => body.map((json) => Buffer.from(json));
const anyBody = fc.oneof(
  asBytes(fc.json()),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);
const chatPaths = pathsOfApi("chat");
/** Requests of every API in its smallest form, now and then as a stream, to a judge that may not be there. */
const apiRequests = apis.map((api) => {
  const more = fc.record(
    { stream: fc.boolean(), model: fc.constantFrom("tiny", "nobody") },
    { requiredKeys: [] },
  );
  const valid = fc.tuple(text, more).map(([typed, others]) => ({ ...api.example(typed), ...others }));
  return post(api.name, pathsOfApi(api.name), asBytes(jsonText(fc.oneof(valid, changed(valid)))));
});
const scorePaths = ["/v1/score", "/score"];

/** One request of the mixture. */
export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 4, arbitrary: post("chat", chatPaths, asBytes(jsonText(chatBody))) },
  { weight: 4, arbitrary: post("chat", chatPaths, asBytes(jsonText(changed(chatBody)))) },
  { weight: 3, arbitrary: fc.oneof(...apiRequests) },
  {
    weight: 2,
    arbitrary: post("score", scorePaths, asBytes(jsonText(fc.oneof(scoreBody, changed(scoreBody))))),
  },
  { weight: 2, arbitrary: fc.oneof(post("chat", chatPaths, anyBody), post("score", scorePaths, anyBody)) },
  {
    weight: 5,
    arbitrary: fc
      .record({ method, path, host, headers, body: anyBody, framing })
      .map(
        (parts): FuzzRequest => ({ kind: "any", bytes: toBytes(parts), bodiless: parts.method === "HEAD" }),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .uint8Array({ minLength: 1, maxLength: 300 })
      .map((bytes): FuzzRequest => ({ kind: "bytes", bytes: Buffer.from(bytes), bodiless: false })),
  },
);
