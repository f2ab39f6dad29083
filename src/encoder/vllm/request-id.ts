// The ids of our requests, by which a server names their files.
import { randomUUID } from "node:crypto";

/** vLLM puts its API's name before an id, and more behind it. */
const ownName = /^cmpl-(pj-[0-9a-f-]{36})-/;

export function newRequestId(): string {
  return `pj-${randomUUID()}`;
}

/** The id of the request that left a file of that name; null where it was not one of ours. */
export function requestIdOf(name: string): string | null {
  return ownName.exec(name)?.[1] ?? null;
}
