// Who may call: bearer keys. Health and readiness are always open.
import { createHash, timingSafeEqual } from "node:crypto";
import { JudgeError } from "../errors.js";

export interface Access {
  /** whether any key is configured */
  readonly hasKeys: boolean;
  /**
   * One valid key in either header is enough, since a proxy or a client's library may fill the other header.
   * @param authorization the header's value, `Bearer KEY`
   * @param apiKey the value of `x-api-key`
   * @throws JudgeError `invalid_api_key` when keys are configured and none of them is given
   */
  check(authorization: string | undefined, apiKey?: string | undefined): void;
}

/** Keys are compared by digest, all of them, in constant time. */
export function createAccess(keys: readonly string[]): Access {
  // Node reads a header's bytes as Latin-1; clients send a key as Latin-1 or as UTF-8
  const digests = keys.flatMap((key) => {
    const sent = [Buffer.from(key, "utf8"), Buffer.from(key, "latin1")] as const;
    return sent[1].toString("latin1") === key ? sent.map(digest) : [digest(sent[0])];
  });
  const isKnown = (given: string) => {
    const candidate = digest(Buffer.from(given, "latin1"));
    let known = false;
    for (const expected of digests) known = timingSafeEqual(expected, candidate) || known;
    return known;
  };
  return {
    hasKeys: keys.length > 0,
    check(authorization, apiKey) {
      if (digests.length === 0) return;
      const bearer = /^bearer +([^ \t]+) *$/i.exec(authorization ?? "")?.[1];
      if (isKnown(bearer ?? "") || (apiKey !== undefined && isKnown(apiKey))) return;
      throw new JudgeError("invalid_api_key", {
        found: "no valid key given",
        remedy: "send one of the configured keys as Authorization: Bearer KEY, or as x-api-key",
      });
    },
  };
}

function digest(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
