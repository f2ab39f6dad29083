// curl, as a person at a shell uses it: a plain upload, a chunked one, and HTTP/1.0.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Call, Outcome, Usage } from "../support/clients/call.js";
import type { Client } from "../support/clients/contract.js";
import { testClient } from "../support/clients/suite.js";

interface Choice {
  readonly message: { readonly content: string };
  readonly finish_reason: string;
  readonly logprobs: unknown;
}
interface Chunk {
  readonly choices: readonly { delta: { content?: string }; finish_reason: string | null }[];
  readonly usage?: WireUsage | null;
}
interface WireUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** With --fail-with-body an HTTP error is exit status 22, the body still printed. */
const failed = "exit 22";
const noParser = "curl has no structured-output feature";

/** @param upload flags of requests with a body */
async function curl(
  { kind, url, key, body }: Call,
  flags: readonly string[],
  upload: readonly string[],
): Promise<Outcome> {
  const stream = kind === "stream";
  const common = ["-sS", "-N", "--max-time", "60", "--fail-with-body", "-w", "%{stderr}%{http_code}"];
  const authorization = key === null ? [] : ["-H", `authorization: Bearer ${key}`];
  const request =
    kind === "models" || kind === "model"
      ? [`${url}/models${kind === "model" ? `/${body.model}` : ""}`]
      : [...upload, "-H", "content-type: application/json", "-d", "@-", `${url}/chat/completions`];
  const child = spawn("curl", [...common, ...flags, ...authorization, ...request]);
  child.stdin.on("error", () => {}).end(JSON.stringify({ ...body, ...(stream && { stream }) }));
  const [output, status, [exit]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number]>,
  ]);
  if (exit === 0) return stream ? readEvents(output) : readAnswer(JSON.parse(output));
  if (exit !== 22) throw new Error(`curl ended with ${exit}: ${status}`);
  // the status stands at the end of curl's own message
  const { error } = JSON.parse(output) as { error: { message: string; code: string } };
  return { error: { className: failed, ...error, status: Number(/\d{3}$/.exec(status)?.[0]) } };
}

function readAnswer(answer: {
  readonly id: string;
  readonly choices?: readonly Choice[];
  readonly data?: readonly { id: string }[];
  readonly usage: WireUsage;
}): Outcome {
  if (answer.data) return { models: answer.data.map((model) => model.id) };
  if (!answer.choices) return { models: [answer.id] };
  return {
    contents: answer.choices.map((choice) => choice.message.content),
    finishReasons: answer.choices.map((choice) => choice.finish_reason),
    logprobs: answer.choices[0]!.logprobs,
    usage: toUsage(answer.usage),
  };
}

function readEvents(output: string): Outcome {
  const events = output.trim().split("\n\n");
  if (events.pop() !== "data: [DONE]") throw new Error("the stream does not end with [DONE]");
  const chunks = events.map((event) => JSON.parse(event.replace(/^data: /, "")) as Chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    contents: [choices.map((choice) => choice.delta.content ?? "").join("")],
    finishReasons: choices.flatMap((choice) => choice.finish_reason ?? []),
    usage: toUsage(chunks.find((chunk) => chunk.usage)?.usage),
  };
}

function toUsage(usage: WireUsage | null | undefined): Usage | null {
  if (!usage) return null;
  return { input: usage.prompt_tokens, output: usage.completion_tokens, total: usage.total_tokens };
}

const variants = [
  { name: "curl", flags: [], upload: [] },
  { name: "curl, chunked upload", flags: [], upload: ["-H", "transfer-encoding: chunked"] },
  { name: "curl, HTTP/1.0", flags: ["--http1.0"], upload: [] },
];

for (const { name, flags, upload } of variants) {
  const client: Client = {
    name,
    errors: { badRequest: failed, authentication: failed, notFound: failed },
    notApplicable: {
      "structured output is parsed": noParser,
      "structured output is parsed from a stream": noParser,
    },
    call: (call) => curl(call, flags, upload),
  };
  testClient(client);
}
