// Finds the user messages that a router itself writes into its judge request. They are no user's prompt.
import type { Message } from "./message.js";

/** Switchyard 0.3.0 ends a request with it in all three APIs if the route has `recent_turn_window`. */
const switchyardClosing = "Route the conversation above. Output ONLY the routing JSON object, nothing else.";
/** LiteLLM 1.110 sends this for a task that only its receiver can decrypt. The encrypted item follows it. */
const litellmPlaceholder = "The delegated task in the following agent_message.";

/**
 * The messages without those of the router. Such a message has exactly one of these texts, at its one place.
 * A message of a user that contains the words, or has them at another place, stays.
 */
export function withoutRouterText(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last !== undefined && isUserText(last, switchyardClosing)) return messages.slice(0, -1);
  // an item that is no message has no role
  const before = messages.at(-2);
  if (last?.role === "" && before !== undefined && isUserText(before, litellmPlaceholder))
    return messages.slice(0, -2);
  return messages;
}

function isUserText({ role, content: { texts, otherParts } }: Message, text: string): boolean {
  return role === "user" && otherParts === 0 && texts.length === 1 && texts[0] === text;
}
