// Who may call: bearer keys, and origins of browsers. Health and readiness are always open.
import { createHash, timingSafeEqual } from "node:crypto";
import { JudgeError } from "../errors.js";

export interface Access {
  /** whether any key is configured */
  readonly hasKeys: boolean;
  /**
   * @param authorization the header's value, `Bearer KEY`
   * @param apiKey the value of `x-api-key`, read where there is no Authorization header
   * @throws JudgeError `invalid_api_key` when keys are configured and none of them is given
   */
  check(authorization: string | undefined, apiKey?: string | undefined): void;
}

/** Keys are compared by digest, all of them, in constant time. */
export function createAccess(keys: readonly string[]): Access {
  const digests = keys.map(digest);
  return {
    hasKeys: keys.length > 0,
    check(authorization, apiKey) {
      if (digests.length === 0) return;
      const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
      const given = digest((authorization === undefined ? apiKey : bearer) ?? "");
      let known = false;
      for (const candidate of digests) known = timingSafeEqual(candidate, given) || known;
      if (!known) {
        throw new JudgeError(
          "invalid_api_key",
          "no valid key given; send one of the configured keys as Authorization: Bearer KEY, or as x-api-key",
        );
      }
    },
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
