// Checks an answer against the JSON Schema that a request brings. The schema is a stranger's: its size and the time it takes are
// bounded (patterns, recursion and references included), nothing is fetched, no code is made of it.
import { createHash } from "node:crypto";
import { type Context, createContext, Script } from "node:vm";
import { Validator } from "@cfworker/json-schema";
import { LRUCache } from "lru-cache";

/** A route's own schema has some hundred characters. */
const maxSchemaLength = 65_536;
/** An answer is checked in under a millisecond, and meanwhile nothing else runs. */
const timeoutMs = 100;
/** A check that took too long is tried again, since a busy machine may have been at fault. */
const maxAttempts = 3;
/** Outcomes kept; a router repeats one schema with one answer for each of its groups. */
const maxOutcomes = 1000;

export interface SchemaCheck {
  /**
   * Whether `schema` takes `answer`. False for a schema that is too large, takes too long, is none, or points elsewhere.
   *
   * @param answer small: what the configuration makes an answer of
   */
  accepts(schema: unknown, answer: unknown): boolean;
}

export function createSchemaCheck(): SchemaCheck {
  const outcomes = new LRUCache<string, boolean>({ max: maxOutcomes });
  const context = createContext({});
  // compiles what the first request would otherwise wait for
  validate(context, JSON.stringify({ properties: { a: { enum: ["b"] } } }), { a: "b" });
  return {
    accepts(schema, answer) {
      const text = asJson(schema);
      if (text === null || text.length > maxSchemaLength) return false;
      const key = createHash("sha256").update(text).update("\0").update(JSON.stringify(answer)).digest("hex");
      const outcome = outcomes.get(key) ?? validate(context, text, answer);
      outcomes.set(key, outcome);
      return outcome;
    },
  };
}

/** null for what is no schema, or nests deeper than the stack. */
function asJson(schema: unknown): string | null {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
    return null;
  try {
    return JSON.stringify(schema);
  } catch {
    return null;
  }
}

const script = new Script("work()");

function validate(context: Context, schema: string, answer: unknown): boolean {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const outcome = validateInTime(context, schema, answer);
    if (outcome !== null) return outcome;
  }
  return false;
}

/**
 * node:vm ends what runs longer than it may, a pattern's search included; the validator itself lies outside of the context.
 *
 * @returns null when the time was over
 */
function validateInTime(context: Context, schema: string, answer: unknown): boolean | null {
  let isValid = false;
  context.work = () => {
    isValid = new Validator(JSON.parse(schema), "2020-12").validate(answer).valid;
  };
  try {
    script.runInContext(context, { timeout: timeoutMs });
    return isValid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? null : false;
  }
}
