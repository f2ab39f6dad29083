// What /v1/chat/completions reads of a request: tolerant, since every client adds options of its own. Brings
// messages to the shape that prompt/ takes.
import * as z from "zod";
import type { Content, Message } from "../prompt/judged-text.js";

const Part = z
  .looseObject({ type: z.string(), text: z.unknown().optional() })
  .refine((part) => part.type !== "text" || typeof part.text === "string", {
    path: ["text"],
    error: "wanted a string in a part of type text",
  });
const maxItems = 10_000;
/** Only a user message's content is read, so only its form matters. */
const ChatMessage = z
  .looseObject({ role: z.string(), content: z.unknown().optional() })
  .superRefine((message, context) => {
    const { role, content } = message;
    if (role !== "user" || content === null || content === undefined || typeof content === "string") return;
    if (!Array.isArray(content)) {
      context.addIssue({
        code: "custom",
        path: ["content"],
        message: "wanted a string or an array of parts",
      });
      return;
    }
    if (content.length > maxItems) {
      context.addIssue({ code: "custom", path: ["content"], message: `wanted at most ${maxItems} parts` });
      return;
    }
    // one by one: a list of wrong parts is done with at the first
    for (const [index, part] of content.entries()) {
      const issue = Part.safeParse(part).error?.issues[0];
      if (issue === undefined) continue;
      context.addIssue({ code: "custom", path: ["content", index, ...issue.path], message: issue.message });
      return;
    }
  });

export const ChatRequest = z.looseObject({
  model: z.string().nullish(),
  // counted before each is looked at: a body of millions must not cost millions of issues
  messages: z
    .array(z.unknown())
    .min(1, { error: "wanted at least one message" })
    .max(maxItems, { error: `wanted at most ${maxItems} messages` })
    .pipe(z.array(ChatMessage)),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(8).nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

/** Messages as prompt/judged-text.ts reads them. */
export function toMessages(request: ChatRequest): Message[] {
  return request.messages.map(({ role, content }) => ({
    role,
    content: toContent(role === "user" ? content : null),
  }));
}

function toContent(content: unknown): Content {
  if (typeof content === "string") return { texts: [content], otherParts: 0 };
  const parts = (content ?? []) as z.infer<typeof Part>[];
  const texts = parts.filter((part) => part.type === "text").map((part) => part.text as string);
  return { texts, otherParts: parts.length - texts.length };
}

/** A message as JSON Schema, for the API document: what the check above cannot tell by itself. */
export const messageJsonSchema = {
  anyOf: [
    {
      type: "object",
      required: ["role"],
      properties: {
        role: { const: "user" },
        content: {
          anyOf: [
            { type: "string" },
            { type: "null" },
            {
              type: "array",
              maxItems,
              items: {
                anyOf: [
                  {
                    type: "object",
                    required: ["type", "text"],
                    properties: { type: { const: "text" }, text: { type: "string" } },
                  },
                  {
                    type: "object",
                    required: ["type"],
                    properties: { type: { type: "string", not: { const: "text" } } },
                  },
                ],
              },
            },
          ],
        },
      },
    },
    {
      type: "object",
      required: ["role"],
      description: "Any other role: developer, system, assistant, tool, function. Not read.",
      properties: { role: { type: "string", not: { const: "user" } } },
    },
  ],
};
