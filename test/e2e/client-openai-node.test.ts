// The openai package of Node.
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import * as z from "zod";
import { decision } from "../support/clients/answered-requests.js";
import type { Call, Outcome, Usage } from "../support/clients/call.js";
import { testClient } from "../support/clients/suite.js";

type Parameters = OpenAI.ChatCompletionCreateParamsNonStreaming;

const Decision = z.fromJSONSchema(decision.schema as z.core.JSONSchema.JSONSchema);

function connect({ url, key }: Call): OpenAI {
  // the package wants a key; without one it is told to leave the header out
  const without = key === null ? { defaultHeaders: { authorization: null } } : {};
  return new OpenAI({ baseURL: url, apiKey: key ?? "unused", maxRetries: 0, ...without });
}

async function ask(call: Call): Promise<Outcome> {
  const client = connect(call);
  const body = call.body as unknown as Parameters;
  const parseable = { ...body, response_format: zodResponseFormat(Decision, decision.name) };
  switch (call.kind) {
    case "models":
      return { models: (await client.models.list()).data.map((model) => model.id) };
    case "model":
      return { models: [(await client.models.retrieve(body.model)).id] };
    case "parse":
      return { parsed: (await client.chat.completions.parse(parseable)).choices[0]!.message.parsed };
    case "parse-stream": {
      const completion = await client.chat.completions
        .stream({ ...parseable, stream: true })
        .finalChatCompletion();
      return { parsed: completion.choices[0]!.message.parsed };
    }
    case "stream":
      return readStream(await client.chat.completions.create({ ...body, stream: true }));
    case "chat": {
      const { choices, usage } = await client.chat.completions.create(body);
      return {
        contents: choices.map((choice) => choice.message.content ?? ""),
        finishReasons: choices.map((choice) => choice.finish_reason),
        logprobs: choices[0]!.logprobs,
        usage: toUsage(usage),
      };
    }
  }
}

async function readStream(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Outcome> {
  let content = "";
  let usage: Usage | null = null;
  const finishReasons: string[] = [];
  for await (const chunk of chunks) {
    const choice = chunk.choices[0];
    content += choice?.delta.content ?? "";
    if (choice?.finish_reason) finishReasons.push(choice.finish_reason);
    if (chunk.usage) usage = toUsage(chunk.usage);
  }
  return { contents: [content], finishReasons, usage };
}

function toUsage(usage: OpenAI.CompletionUsage | null | undefined): Usage | null {
  if (!usage) return null;
  return { input: usage.prompt_tokens, output: usage.completion_tokens, total: usage.total_tokens };
}

testClient({
  name: "openai (Node)",
  errors: {
    badRequest: "BadRequestError",
    authentication: "AuthenticationError",
    notFound: "NotFoundError",
  },
  notApplicable: {},
  async call(call) {
    try {
      return await ask(call);
    } catch (error) {
      if (!(error instanceof OpenAI.APIError)) throw error;
      const { status, code, message } = error;
      return { error: { className: error.constructor.name, message, status, code } };
    }
  },
});
