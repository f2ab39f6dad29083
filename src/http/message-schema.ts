// The list of messages that every chat API has, in each API's dialect: tolerant, since every client adds options of its own.
// Only a user message's content is read, so only its form matters. Brings messages to the shape that prompt/ takes.
import * as z from "zod";
import type { Content, Message } from "../prompt/judged-text.js";

export interface Dialect {
  /** types of the parts that hold a string `text` */
  readonly textTypes: readonly string[];
  /** whether items without a role stand among the messages */
  readonly hasOtherItems: boolean;
}

/** Messages of a request, and parts of a message. */
export const maxItems = 10_000;

/** A message as a client sends it, checked. */
export interface WireMessage {
  readonly role?: string | null | undefined;
  readonly content?: unknown;
}

type Part = { readonly type: string; readonly text?: unknown };

/** At least one message; counted before each is looked at: a body of millions must not cost millions of issues. */
export function messageList(dialect: Dialect, wrongType = "wanted an array of messages") {
  const role = dialect.hasOtherItems ? z.string().nullish() : z.string();
  const message = z.object({ role, content: z.unknown().optional() }).superRefine(checkContent(dialect));
  return z
    .array(z.unknown(), { error: wrongType })
    .min(1, { error: "wanted at least one message" })
    .max(maxItems, { error: `wanted at most ${maxItems} messages` })
    .pipe(z.array(message));
}

function checkContent({ textTypes }: Dialect) {
  const part = z
    .object({ type: z.string(), text: z.unknown().optional() })
    .refine(({ type, text }) => !textTypes.includes(type) || typeof text === "string", {
      path: ["text"],
      error: `wanted a string in a part of type ${textTypes[0]}`,
    });
  return ({ role, content }: WireMessage, context: z.RefinementCtx<WireMessage>): void => {
    if (role !== "user" || content === null || content === undefined || typeof content === "string") return;
    const refuse = (path: PropertyKey[], message: string) => {
      context.addIssue({ code: "custom", path: ["content", ...path], message });
    };
    if (!Array.isArray(content)) refuse([], "wanted a string or an array of parts");
    else if (content.length > maxItems) refuse([], `wanted at most ${maxItems} parts`);
    else {
      // one by one: a list of wrong parts is done with at the first
      for (const [index, item] of content.entries()) {
        const issue = part.safeParse(item).error?.issues[0];
        if (issue === undefined) continue;
        refuse([index, ...issue.path], issue.message);
        return;
      }
    }
  };
}

/** Messages as prompt/judged-text.ts reads them; items without a role are nobody's. */
export function readMessages(messages: readonly WireMessage[], { textTypes }: Dialect): Message[] {
  return messages.map(({ role, content }) => ({
    role: role ?? "",
    content: role === "user" ? toContent(content, textTypes) : { texts: [], otherParts: 0 },
  }));
}

function toContent(content: unknown, textTypes: readonly string[]): Content {
  if (typeof content === "string") return { texts: [content], otherParts: 0 };
  const parts = (content ?? []) as readonly Part[];
  const texts = parts.filter(({ type }) => textTypes.includes(type)).map(({ text }) => text as string);
  return { texts, otherParts: parts.length - texts.length };
}

/** A message as JSON Schema, for the API document: what the check above cannot tell by itself. */
export function messageJsonSchema({ textTypes, hasOtherItems }: Dialect) {
  const part = (type: object, more: object, required: readonly string[]) => ({
    type: "object",
    required,
    properties: { type, ...more },
  });
  const parts = [
    part({ enum: textTypes }, { text: { type: "string" } }, ["type", "text"]),
    part({ type: "string", not: { enum: textTypes } }, {}, ["type"]),
  ];
  const contents = [
    { type: "string" },
    { type: "null" },
    { type: "array", maxItems, items: { anyOf: parts } },
  ];
  const otherRole = { type: "string", not: { const: "user" } };
  return {
    anyOf: [
      {
        type: "object",
        required: ["role"],
        properties: { role: { const: "user" }, content: { anyOf: contents } },
      },
      {
        type: "object",
        ...(!hasOtherItems && { required: ["role"] }),
        description: hasOtherItems
          ? "Any other item: another role's message, a call and its output, reasoning. Not read."
          : "Any other role: developer, system, assistant, tool, function. Not read.",
        properties: { role: hasOtherItems ? { anyOf: [otherRole, { type: "null" }] } : otherRole },
      },
    ],
  };
}
