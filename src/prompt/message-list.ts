// Reads the list of messages that a chat request or a label carries. It is tolerant, since every client adds
// options of its own, and it checks only the content of user messages, since no other content is read.
import * as z from "zod";
import type { Message, MessageContent } from "./message.js";

/** How one API writes its messages. */
export interface Dialect {
  /** where the list stands in a request */
  readonly list: "messages" | "input";
  /** types of the parts with a string `text`; those of every API, since routers translate between them */
  readonly textTypes: readonly string[];
  /** whether items without a role stand among the messages */
  readonly hasOtherItems: boolean;
}

/** The dialect of OpenAI's chat completions and of Anthropic's messages. */
export const chatDialect: Dialect = {
  list: "messages",
  textTypes: ["text", "input_text", "output_text"],
  hasOtherItems: false,
};

/** Limit on the messages of a request, and on the parts of a message. */
export const maxItems = 10_000;

/** A message as a client sends it, with its role checked. */
export interface WireMessage {
  readonly role?: string | null | undefined;
  readonly content?: unknown;
}

/** A schema for one message or more. It counts them first, so that millions of messages cost one issue. */
export function messageList({ hasOtherItems }: Dialect, wrongType = "wanted an array of messages") {
  const role = hasOtherItems ? z.string().nullish() : z.string();
  const message = z.object({ role, content: z.unknown().optional() });
  return z
    .array(z.unknown(), { error: wrongType })
    .min(1, { error: "wanted at least one message" })
    .max(maxItems, { error: `wanted at most ${maxItems} messages` })
    .pipe(z.array(message));
}

/** The messages as judged-text.ts reads them. An item without a role gets an empty one. */
export function readMessages(messages: readonly WireMessage[], dialect: Dialect): Message[] {
  return messages.map(({ role, content }, index) => ({
    role: role ?? "",
    content:
      role === "user"
        ? readContent(content, dialect, `${dialect.list}[${index}].content`)
        : { texts: [], otherParts: 0 },
  }));
}

/** @param place of the content in the request; a fault is kept, and matters only if the message is judged */
function readContent(content: unknown, { textTypes }: Dialect, place: string): MessageContent {
  if (typeof content === "string") return { texts: [content], otherParts: 0 };
  const malformed = (path: string, found: string): MessageContent => ({
    texts: [],
    otherParts: 0,
    fault: { place: `${place}${path}`, found },
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
