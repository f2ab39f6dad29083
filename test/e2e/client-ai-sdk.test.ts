// Vercel's AI SDK with its provider for OpenAI-compatible servers.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  generateText,
  type JSONValue,
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  Output,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import { decision } from "../support/clients/answered-requests.js";
import type { Body, Call, Message, Outcome, Usage } from "../support/clients/call.js";
import { testClient } from "../support/clients/suite.js";

const noModels = "the AI SDK has no call for the list of models";

function modelOf({ url, key, body }: Call) {
  const provider = createOpenAICompatible({
    name: "judge",
    baseURL: url,
    includeUsage: body.stream_options?.include_usage ?? false,
    supportsStructuredOutputs: true,
    ...(key !== null && { apiKey: key }),
  });
  return provider(body.model);
}

/**
 * What generateText and streamText have names for; the other options go through providerOptions as they are.
 */
function settingsOf(call: Call) {
  const { model: _, messages, stream_options: _usage, max_tokens, tools, tool_choice, ...rest } = call.body;
  const { response_format: _format, ...options } = rest;
  return {
    model: modelOf(call),
    messages: messages.map(toMessage),
    allowSystemInMessages: true,
    maxRetries: 0,
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens as number }),
    ...(tools !== undefined && { tools: toTools(tools), toolChoice: tool_choice as "auto" }),
    providerOptions: { judge: options as Record<string, JSONValue> },
  };
}

function toMessage({ role, content }: Message): ModelMessage {
  if (typeof content === "string") return { role: role as "system" | "user" | "assistant", content };
  const parts = content.map((part) =>
    part.type === "text" ? part : ({ type: "image", image: part.image_url.url } as const),
  );
  return { role: "user", content: parts };
}

function toTools(tools: Body[string]): ToolSet {
  const definitions = tools as readonly {
    function: { name: string; description: string; parameters: object };
  }[];
  return Object.fromEntries(
    definitions.map(({ function: { name, description, parameters } }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters) }),
    ]),
  );
}

async function ask(call: Call): Promise<Outcome> {
  const settings = settingsOf(call);
  const output = Output.object({ schema: jsonSchema(decision.schema), name: decision.name });
  let failure: unknown;
  const onError = ({ error }: { error: unknown }) => {
    failure = error;
  };
  switch (call.kind) {
    case "parse":
      return { parsed: (await generateText({ ...settings, output })).output };
    case "parse-stream": {
      let parsed: unknown;
      for await (const part of streamText({ ...settings, output, onError }).partialOutputStream)
        parsed = part;
      return { parsed };
    }
    case "stream": {
      const result = streamText({ ...settings, onError });
      let content = "";
      for await (const piece of result.textStream) content += piece;
      if (failure) throw failure;
      return {
        contents: [content],
        finishReasons: [await result.finishReason],
        usage: toUsage(await result.usage),
      };
    }
    default: {
      // the SDK itself shows the first choice only; the answer as it came holds the others
      const { text, usage, finishReason, response } = await generateText(settings);
      const { choices } = response.body as {
        choices: { message: { content: string }; finish_reason: string; logprobs: unknown }[];
      };
      const others = choices.slice(1);
      return {
        contents: [text, ...others.map((choice) => choice.message.content)],
        finishReasons: [finishReason, ...others.map((choice) => choice.finish_reason)],
        logprobs: choices[0]!.logprobs,
        usage: toUsage(usage),
      };
    }
  }
}

function toUsage({ inputTokens, outputTokens, totalTokens }: LanguageModelUsage): Usage | null {
  if (inputTokens === undefined) return null;
  return { input: inputTokens, output: outputTokens!, total: totalTokens! };
}

testClient({
  name: "AI SDK (@ai-sdk/openai-compatible)",
  errors: {
    badRequest: "AI_APICallError",
    authentication: "AI_APICallError",
    notFound: "AI_APICallError",
  },
  notApplicable: {
    "a developer message changes nothing": "the AI SDK has no developer role",
    "judges and aliases are listed": noModels,
    "a judge is retrieved by its name": noModels,
    "an alias with a slash is retrieved": noModels,
    "retrieving an unknown model is the client's not-found error": noModels,
  },
  async call(call) {
    try {
      return await ask(call);
    } catch (error) {
      if (!APICallError.isInstance(error)) throw error;
      const { code } = (error.data as { error: { code: unknown } }).error;
      return { error: { className: error.name, message: error.message, status: error.statusCode!, code } };
    }
  },
});
