// What every chat client must get from this server: a list of calls, each with what the client must make of
// the answer. The adapter of a client makes the call in the way of the client and says what its user sees.
import assert from "node:assert/strict";
import { readVerdict } from "../verdict.js";
import { otherOptions, parts, responseFormat, rightKey, user, weather } from "./answered-requests.js";
import type { Body, Call, Outcome } from "./call.js";

export interface Client {
  readonly name: string;
  /** its error classes; if it has one class for all, that name three times */
  readonly errors: {
    readonly badRequest: string;
    readonly authentication: string;
    readonly notFound: string;
  };
  /** cases that the client cannot express, each with the reason */
  readonly notApplicable: Partial<Record<CaseName, string>>;
  call(call: Call): Promise<Outcome>;
  close?(): Promise<void>;
}

/** What an answer is compared with. */
export interface Wanted {
  /** of `prompt`, as a request without any client gets it */
  readonly pSolve: number;
  /** of `prompt` */
  readonly tokens: number;
  readonly errors: Client["errors"];
}

interface Case {
  readonly kind?: Call["kind"];
  /** added to a chat about `prompt` */
  readonly body?: Partial<Body>;
  /** if present, the call goes to the server that has keys */
  readonly key?: string | null;
  check(outcome: Outcome, wanted: Wanted): void;
}

function verdict(count = 1) {
  return ({ contents, finishReasons }: Outcome, { pSolve }: Wanted): void => {
    assert.equal(contents?.length, count);
    for (const content of contents) assert.equal(readVerdict(content).p_solve, pSolve);
    assert.deepEqual(finishReasons, Array(count).fill("stop"));
  };
}

function verdictWithUsage(outcome: Outcome, wanted: Wanted): void {
  verdict()(outcome, wanted);
  assert.deepEqual(outcome.usage, { input: wanted.tokens, output: 0, total: wanted.tokens });
}

function parsed({ parsed }: Outcome, { pSolve }: Wanted): void {
  assert.equal(readVerdict(JSON.stringify(parsed)).p_solve, pSolve);
}

function refused(kind: keyof Client["errors"], status: number, code: string, message: RegExp) {
  return ({ error }: Outcome, { errors }: Wanted): void => {
    assert.ok(error, "wanted the client to throw");
    assert.deepEqual([error.className, error.status, error.code], [errors[kind], status, code]);
    assert.match(error.message, message);
  };
}

const noKey = refused("authentication", 401, "invalid_api_key", /no valid key given/);

const contract = {
  "a plain chat gets a verdict": { check: verdictWithUsage },
  "text parts beside an image are judged": {
    body: { messages: [{ role: "user", content: parts }] },
    check: verdict(),
  },
  "a system message changes nothing": {
    body: { messages: [{ role: "system", content: "You judge." }, user] },
    check: verdict(),
  },
  "a developer message changes nothing": {
    body: { messages: [{ role: "developer", content: "Be strict." }, user] },
    check: verdict(),
  },
  "a conversation is judged by its opening message": {
    body: {
      messages: [user, { role: "assistant", content: "Done." }, { role: "user", content: "Another task" }],
    },
    check: verdict(),
  },
  "structured output is parsed": {
    kind: "parse",
    body: { response_format: responseFormat },
    check: parsed,
  },
  "structured output is parsed from a stream": {
    kind: "parse-stream",
    body: { response_format: responseFormat },
    check: parsed,
  },
  "a stream assembles to the verdict, without usage unless asked": {
    kind: "stream",
    check(outcome, wanted) {
      verdict()(outcome, wanted);
      assert.equal(outcome.usage, null);
    },
  },
  "a stream ends with usage when asked": {
    kind: "stream",
    body: { stream_options: { include_usage: true } },
    check: verdictWithUsage,
  },
  "n = 3 gives three equal choices": { body: { n: 3 }, check: verdict(3) },
  "max_completion_tokens = 1 still gets a whole verdict": {
    body: { max_completion_tokens: 1 },
    check: verdict(),
  },
  "legacy max_tokens and functions are accepted": {
    body: { max_tokens: 1, functions: [weather], function_call: "auto" },
    check: verdict(),
  },
  "tools are accepted and not called": {
    body: { tools: [{ type: "function", function: weather }], tool_choice: "auto" },
    check: verdict(),
  },
  "logprobs are null": {
    body: { logprobs: true, top_logprobs: 5 },
    check(outcome, wanted) {
      verdict()(outcome, wanted);
      assert.equal(outcome.logprobs, null);
    },
  },
  "every other option of the chat API is accepted": { body: otherOptions, check: verdict() },
  "an alias with a slash is a model": { body: { model: "org/judge" }, check: verdict() },
  "an unknown model is the client's not-found error": {
    body: { model: "gpt-unknown" },
    check: refused("notFound", 404, "model_not_found", /no judge has this name/),
  },
  "a malformed request is the client's bad-request error": {
    body: { n: 99 },
    check: refused("badRequest", 400, "invalid_request", /n: /),
  },
  "a malformed stream request is the client's bad-request error": {
    kind: "stream",
    body: { n: 99 },
    check: refused("badRequest", 400, "invalid_request", /n: /),
  },
  "without a key: the client's authentication error": { key: null, check: noKey },
  "with a wrong key: the client's authentication error": { key: "sk-wrong", check: noKey },
  "with the right key: a verdict": { key: rightKey, check: verdict() },
  "judges and aliases are listed": {
    kind: "models",
    check: ({ models }) => assert.deepEqual(models, ["tiny", "judge", "org/judge"]),
  },
  "a judge is retrieved by its name": {
    kind: "model",
    check: ({ models }) => assert.deepEqual(models, ["tiny"]),
  },
  "an alias with a slash is retrieved": {
    kind: "model",
    body: { model: "org/judge" },
    check: ({ models }) => assert.deepEqual(models, ["org/judge"]),
  },
  "retrieving an unknown model is the client's not-found error": {
    kind: "model",
    body: { model: "gpt-unknown" },
    check: refused("notFound", 404, "model_not_found", /no judge has this name/),
  },
} as const satisfies Record<string, Case>;

export type CaseName = keyof typeof contract;
export const cases = Object.entries(contract) as unknown as readonly (readonly [CaseName, Case])[];

/** Makes the call of a case to the open server, or to the one that has keys. */
export function callOf({ kind = "chat", body, key }: Case, urls: { open: string; keyed: string }): Call {
  return {
    kind,
    url: `${key === undefined ? urls.open : urls.keyed}/v1`,
    key: key === undefined ? "sk-any" : key,
    body: { model: "tiny", messages: [user], ...body },
  };
}
