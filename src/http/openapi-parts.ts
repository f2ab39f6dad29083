// The parts that operations of the API document are made of: judgements in three APIs, and their refusals.

export const json = (schema: object) => ({ content: { "application/json": { schema } } });
export const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Headers of every answer about a judgement. */
const judgementHeaders = Object.fromEntries(
  [
    ["x-prefill-judge-model", "the judge that answered"],
    ["x-prefill-judge-checkpoint", "hash of the checkpoint that made the answer"],
    ["x-prefill-judge-p-solve", "p_solve; 0 for an abstention"],
    ["x-prefill-judge-abstained", "only on an abstention: why"],
  ].map(([name, description]) => [name, { description, schema: { type: "string" } }]),
);

/** One server-sent event. */
function eventSchema(description: string) {
  return {
    type: "object",
    required: ["data"],
    properties: { data: { type: "string", description } },
  };
}

const unlessError = 'a judgement abstains instead, unless on_failure = "error"';
const errors: Readonly<Record<string, string>> = {
  400: "Malformed: not JSON, a wrong type, no messages.",
  401: "Keys are configured and none of them was given.",
  403: "From a web page of another origin, or to a Host that is not this server's.",
  404: "Unknown model.",
  408: "The request was not complete in time.",
  413: "The body is over the limit.",
  415: "Compressed, or another charset than UTF-8.",
  429: `More is asked than can be done; ${unlessError}.`,
  500: "A bug of the judge.",
  503: `The encoder is down, or failed; ${unlessError}.`,
  504: `No result before the deadline; ${unlessError}.`,
};

/** Statuses of every path that needs an encoder. */
export const encoderStatuses = [400, 401, 403, 404, 408, 413, 415, 429, 500, 503, 504];

/** @param schema the name of the errors' schema */
export function refusals(schema: string, ...statuses: readonly number[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, { description: errors[status], ...json(reference(schema)) }]),
  );
}

interface Judging {
  readonly operationId: string;
  readonly summary: string;
  /** names of the schemas of request, answer and error */
  readonly request: string;
  readonly answer: string;
  readonly error: string;
  /** what is special about it, the events of its stream among that */
  readonly description: string;
  /** what the data of an event is */
  readonly event: string;
}

function judgingOperation({ operationId, summary, request, answer, error, description, event }: Judging) {
  return {
    operationId,
    summary,
    description:
      "Reads the text of the first user message that has any beside what its client put there; everything else in the request is accepted and ignored. " +
      "A well-formed request that cannot be judged gets 200 with an abstaining verdict (see x-prefill-judge-abstained). " +
      description,
    requestBody: { required: true, ...json(reference(request)) },
    responses: {
      200: {
        description: "A verdict, or an abstention.",
        headers: judgementHeaders,
        content: {
          "application/json": { schema: reference(answer) },
          "text/event-stream": { schema: eventSchema(event) },
        },
      },
      ...refusals(error, ...encoderStatuses),
    },
  };
}

/** Every path that judges a conversation. */
export const judgingOperations = {
  "/v1/chat/completions": judgingOperation({
    operationId: "chat",
    summary: "Judge the opening user message",
    request: "ChatRequest",
    answer: "ChatCompletion",
    error: "Error",
    description:
      "With stream: true the answer is server-sent events: for each choice a role chunk, the content, a finish chunk; " +
      "then the usage chunk if stream_options.include_usage is set; then [DONE].",
    event: "a chat.completion.chunk as JSON, or [DONE]",
  }),
  "/v1/responses": judgingOperation({
    operationId: "responses",
    summary: "The same for clients of OpenAI's Responses API",
    request: "ResponsesRequest",
    answer: "ResponsesAnswer",
    error: "Error",
    description:
      "Nothing is stored: with previous_response_id or conversation, a judge of first messages abstains. With stream: true the answer is " +
      "server-sent events, from response.created to response.completed.",
    event: "an event of the Responses API as JSON",
  }),
  "/v1/messages": judgingOperation({
    operationId: "messages",
    summary: "The same for clients of Anthropic's Messages API",
    request: "MessagesRequest",
    answer: "MessagesAnswer",
    error: "MessagesError",
    description:
      "With stream: true the answer is server-sent events, from message_start to message_stop. Errors come in the " +
      "envelope of that API.",
    event: "an event of the Messages API as JSON",
  }),
};
