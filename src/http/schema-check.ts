// Checks an answer against the JSON Schema that a request brings. The schema is a stranger's: its size and the time it takes are
// bounded (patterns, recursion and references included), nothing is fetched, no code is made of it.
import { createHash } from "node:crypto";
import { createContext, Script } from "node:vm";
import { Validator } from "@cfworker/json-schema";

/** A route's own schema has some hundred characters. */
const maxSchemaLength = 65_536;
/** An answer is checked in well under a millisecond. */
const timeoutMs = 50;
/** Results kept; a router repeats one schema with one answer for each of its groups. */
const maxResults = 1000;

export interface SchemaCheck {
  /**
   * Whether `schema` takes `answer`. False for a schema that is too large, takes too long, is none, or points elsewhere.
   *
   * @param answer small: what the configuration makes an answer of
   */
  accepts(schema: unknown, answer: unknown): boolean;
}

export function createSchemaCheck(): SchemaCheck {
  const results = new Map<string, boolean>();
  return {
    accepts(schema, answer) {
      const text = asJson(schema);
      if (text === null || text.length > maxSchemaLength) return false;
      const key = createHash("sha256").update(text).update("\0").update(JSON.stringify(answer)).digest("hex");
      const known = results.get(key);
      const result = known ?? validateInTime(text, answer);
      // the least recently used go first
      results.delete(key);
      results.set(key, result);
      if (results.size > maxResults) results.delete(results.keys().next().value!);
      return result;
    },
  };
}

/** null for what is no schema, or nests deeper than the stack. */
function asJson(schema: unknown): string | null {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null)) return null;
  try {
    return JSON.stringify(schema);
  } catch {
    return null;
  }
}

const script = new Script("work()");

/** node:vm ends what runs longer than it may, a pattern's search included; the validator itself lies outside of the context. */
function validateInTime(schema: string, answer: unknown): boolean {
  let isValid = false;
  const work = () => {
    isValid = new Validator(JSON.parse(schema), "2020-12").validate(answer).valid;
  };
  try {
    script.runInContext(createContext({ work }), { timeout: timeoutMs });
  } catch {
    return false;
  }
  return isValid;
}
