// A message as JSON Schema, for the API document: zod cannot derive it from the checks of message-list.ts.
import { type Dialect, maxItems } from "../../prompt/message-list.js";

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
