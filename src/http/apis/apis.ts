// The descriptors of the chat APIs. A new one also has a line in answer/served-apis.ts.
import { type ApiName, servedApis } from "../../answer/served-apis.js";
import { type ErrorEnvelope, openAiEnvelope } from "../errors.js";
import type { Api } from "./api.js";
import { chat } from "./chat.js";
import { messages } from "./messages.js";
import { responses } from "./responses.js";

const apiByName: Readonly<Record<ApiName, Api>> = { chat, responses, messages };
export const apis = Object.values(apiByName);

const prefixes = apis.map((api) => ({
  api,
  pattern: new RegExp(`^/+(v1/+)*${servedApis[api.name].path.slice(1)}(?=[/?]|$)`),
}));

/** The API that a path belongs to, even if the API has no such path; null: none. */
export function apiOf(path: string): Api | null {
  return prefixes.find(({ pattern }) => pattern.test(path))?.api ?? null;
}

/** How an error is written for a path. */
export function envelopeOf(path: string): ErrorEnvelope {
  return apiOf(path)?.errors ?? openAiEnvelope;
}
