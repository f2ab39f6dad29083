// LangChain JS: ChatOpenAI of @langchain/openai.
import {
  type AIMessageChunk,
  type BaseMessageLike,
  ChatMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { APIError } from "openai";
import { decision } from "../support/clients/answered-requests.js";
import type { Call, Message, Outcome, Usage } from "../support/clients/call.js";
import { testClient } from "../support/clients/suite.js";

const noModels = "ChatOpenAI has no call for the list of models";

/** The options of the wire that ChatOpenAI has names of its own for; it passes the others on as they are. */
function connect({ url, key, body }: Call): ChatOpenAI {
  const {
    model,
    messages: _,
    stream_options,
    max_tokens,
    tools: _tools,
    tool_choice: _choice,
    ...rest
  } = body;
  const {
    functions: _functions,
    function_call: _call,
    response_format: _format,
    n,
    logprobs,
    ...more
  } = rest;
  return new ChatOpenAI({
    model,
    apiKey: key ?? "",
    maxRetries: 0,
    n: n as number,
    logprobs: logprobs as boolean,
    maxTokens: max_tokens as number,
    streamUsage: stream_options?.include_usage ?? false,
    modelKwargs: more,
    configuration: { baseURL: url },
  });
}

async function ask(call: Call): Promise<Outcome> {
  const { kind, body } = call;
  const client = connect(call);
  const messages = body.messages.map(toMessage);
  if (kind === "parse" || kind === "parse-stream") {
    const structured = client.withStructuredOutput(decision.schema, {
      name: decision.name,
      method: "jsonSchema",
    });
    if (kind === "parse") return { parsed: await structured.invoke(messages) };
    let parsed: unknown;
    for await (const part of await structured.stream(messages)) parsed = part;
    return { parsed };
  }
  const { tools, tool_choice, functions, function_call } = body;
  const options = { tools, tool_choice, functions, function_call } as object;
  if (kind === "stream") {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await client.stream(messages, options)) whole = whole?.concat(chunk) ?? chunk;
    return {
      contents: [whole!.text],
      finishReasons: [whole!.response_metadata.finish_reason],
      usage: toUsage(whole!.usage_metadata),
    };
  }
  const { generations, llmOutput } = await client.generate([messages], options);
  const { promptTokens, completionTokens, totalTokens } = llmOutput!.tokenUsage as Record<string, number>;
  return {
    contents: generations[0]!.map(({ text }) => text),
    finishReasons: generations[0]!.map(({ generationInfo }) => generationInfo?.finish_reason),
    logprobs: generations[0]![0]!.generationInfo?.logprobs ?? null,
    usage: { input: promptTokens!, output: completionTokens ?? 0, total: totalTokens! },
  };
}

/** It would send a developer message as one of the system, unless told the role by name. */
function toMessage(message: Message): BaseMessageLike {
  const { role, content } = message;
  if (role === "developer") return new ChatMessage({ role, content: content as string });
  return message as unknown as BaseMessageLike;
}

function toUsage(usage: UsageMetadata | undefined): Usage | null {
  if (!usage) return null;
  return { input: usage.input_tokens, output: usage.output_tokens, total: usage.total_tokens };
}

testClient({
  name: "LangChain (ChatOpenAI)",
  errors: {
    badRequest: "BadRequestError",
    authentication: "AuthenticationError MODEL_AUTHENTICATION",
    notFound: "NotFoundError MODEL_NOT_FOUND",
  },
  notApplicable: {
    "without a key: the client's authentication error": "ChatOpenAI refuses to start without a key",
    "judges and aliases are listed": noModels,
    "a judge is retrieved by its name": noModels,
    "an alias with a slash is retrieved": noModels,
    "retrieving an unknown model is the client's not-found error": noModels,
  },
  async call(call) {
    try {
      return await ask(call);
    } catch (error) {
      if (!(error instanceof APIError)) throw error;
      const { lc_error_code } = error as { lc_error_code?: string };
      const className = [error.constructor.name, lc_error_code].filter(Boolean).join(" ");
      return { error: { className, message: error.message, status: error.status, code: error.code } };
    }
  },
});
