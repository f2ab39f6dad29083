// First requests of coding agents: the shapes are theirs, the contents are ours.
import { fixturePath, readJson } from "../fixtures.js";

export interface ClientRequest {
  readonly client: string;
  readonly shape: string;
  /** the API it speaks */
  readonly api: "chat" | "responses" | "messages";
  /** the first text that its user typed, and the last one */
  readonly first: string;
  readonly latest: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export const apiPaths = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
} as const;

export function clientRequests(): ClientRequest[] {
  return readJson<ClientRequest[]>(fixturePath("clients/requests.json"));
}
