// The list of messages that every chat API has, in each API's dialect: tolerant, since every client adds options of its own.
// Only the content of the message that is judged is read, so only its form matters. Brings messages to the shape that
// prompt/ takes.
import * as z from "zod";
import type { Content, Message } from "../../prompt/message.js";

export interface Dialect {
  /** where the list stands in a request */
  readonly list: "messages" | "input";
  /** types of the parts that hold a string `text`: those of every API, the own first, since routers bring one to another */
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

/** At least one message; counted before each is looked at: a body of millions must not cost millions of issues. */
export function messageList({ hasOtherItems }: Dialect, wrongType = "wanted an array of messages") {
  const role = hasOtherItems ? z.string().nullish() : z.string();
  const message = z.object({ role, content: z.unknown().optional() });
  return z
    .array(z.unknown(), { error: wrongType })
    .min(1, { error: "wanted at least one message" })
    .max(maxItems, { error: `wanted at most ${maxItems} messages` })
    .pipe(z.array(message));
}

/** Messages as prompt/judged-text.ts reads them; items without a role are nobody's. */
export function readMessages(messages: readonly WireMessage[], dialect: Dialect): Message[] {
  return messages.map(({ role, content }, index) => ({
    role: role ?? "",
    content:
      role === "user"
        ? readContent(content, dialect, `${dialect.list}[${index}].content`)
        : { texts: [], otherParts: 0 },
  }));
}

/** @param place of the content in the request; of a malformed one, the fault is kept for whoever reads the message */
function readContent(content: unknown, { textTypes }: Dialect, place: string): Content {
  if (typeof content === "string") return { texts: [content], otherParts: 0 };
  const malformed = (path: string, finding: string): Content => ({
    texts: [],
    otherParts: 0,
    fault: { place: `${place}${path}`, finding },
  });
  if (content === null || content === undefined) return { texts: [], otherParts: 0 };
  if (!Array.isArray(content)) return malformed("", "wanted a string or an array of parts");
  if (content.length > maxItems) return malformed("", `wanted at most ${maxItems} parts`);
  const texts: string[] = [];
  for (const [index, part] of content.entries()) {
    if (typeof part !== "object" || part === null || Array.isArray(part))
      return malformed(`[${index}]`, "wanted an object with a type");
    const { type, text } = part as { type?: unknown; text?: unknown };
    if (typeof type !== "string") return malformed(`[${index}].type`, "wanted a string");
    if (!textTypes.includes(type)) continue;
    if (typeof text !== "string")
      return malformed(`[${index}].text`, `wanted a string in a part of type ${type}`);
    texts.push(text);
  }
  return { texts, otherParts: content.length - texts.length };
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
