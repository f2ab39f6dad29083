// What a router itself writes among the user messages of its judge request. It is nobody's prompt.
import type { Message } from "./message.js";

/** Closes the request of every Switchyard route with `recent_turn_window`, in each of the three APIs (0.3.0). */
const switchyardClosing = "Route the conversation above. Output ONLY the routing JSON object, nothing else.";
/** Stands in the place of a task that only its receiver can decrypt; the encrypted item follows (LiteLLM 1.110). */
const litellmPlaceholder = "The delegated task in the following agent_message.";

/**
 * The messages without the router's own: known by the whole text of a message that has nothing else, and by its place. A
 * user's message that only contains these words, or has them at another place, stays.
 */
export function withoutRouterText(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last !== undefined && isUserText(last, switchyardClosing)) return messages.slice(0, -1);
  // items that are no messages have no role
  const before = messages.at(-2);
  if (last?.role === "" && before !== undefined && isUserText(before, litellmPlaceholder))
    return messages.slice(0, -2);
  return messages;
}

function isUserText({ role, content: { texts, otherParts } }: Message, text: string): boolean {
  return role === "user" && otherParts === 0 && texts.length === 1 && texts[0] === text;
}
