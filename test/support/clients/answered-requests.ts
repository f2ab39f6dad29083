// The requests of the contract: one prompt in several forms, and every option of OpenAI's chat API.
import { fixturePath, readJson } from "../fixtures.js";
import type { Part } from "./call.js";

export const prompt = "Write a function that reverses a list,\nand say why it ends.";
export const rightKey = "sk-right-3f9a";

/** Switchyard's schema of a verdict, as its requests carry it. */
export const decision = readJson<{ openai_chat: { body: { response_format: { json_schema: Decision } } }[] }>(
  fixturePath("switchyard/judge-requests.json"),
).openai_chat[0]!.body.response_format.json_schema;
interface Decision {
  readonly name: "CapabilityClassifierDecision";
  readonly strict: boolean;
  readonly schema: Record<string, unknown>;
}
export const responseFormat = { type: "json_schema", json_schema: decision };

export const user = { role: "user", content: prompt } as const;
const parameters = { type: "object", properties: { city: { type: "string" } } };
export const weather = { name: "weather", description: "The weather of a city", parameters };
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const parts: readonly Part[] = [
  { type: "text", text: prompt.split("\n")[0]! },
  { type: "image_url", image_url: { url: pixel } },
  { type: "text", text: prompt.split("\n")[1]! },
];
export const otherOptions = {
  temperature: 0.3,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  seed: 7,
  stop: ["}", "p_solve"],
  user: "someone",
  logit_bias: { "50256": -100 },
  reasoning_effort: "low",
  verbosity: "low",
  store: false,
  metadata: { a: "b" },
  service_tier: "auto",
  prompt_cache_key: "k",
  safety_identifier: "s",
  modalities: ["text"],
  prediction: { type: "content", content: "{}" },
};
