// The chat APIs that the server speaks. http/apis has a descriptor of each; `routes check` reads this list.

interface ServedApi {
  /** where the server has it, behind /v1 and without that */
  readonly path: string;
  /** what Switchyard calls the format of such a client */
  readonly clientFormat: string;
}

export const servedApis = {
  chat: { path: "/chat/completions", clientFormat: "openai_chat" },
  responses: { path: "/responses", clientFormat: "openai_responses" },
  messages: { path: "/messages", clientFormat: "anthropic_messages" },
} as const satisfies Readonly<Record<string, ServedApi>>;

export type ApiName = keyof typeof servedApis;
