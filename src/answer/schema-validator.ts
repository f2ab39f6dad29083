// Validates an answer against a stranger's JSON Schema, within bounds of size and time that hold for
// patterns, recursion and references too. Nothing is fetched, and no code is made of it. It holds up its
// thread.
import { Validator } from "@cfworker/json-schema";
import { runBounded } from "../input/bounded-run.js";

/** A route's own schema has some hundred characters. */
const maxSchemaLength = 65_536;
/** An answer is checked in under a millisecond; a busy machine may not let the thread run for a while. */
const timeoutMs = 300;

/** The schema as JSON; null for what is no schema, is too large, or nests deeper than the stack. */
export function schemaText(schema: unknown): string | null {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
    return null;
  try {
    const text = JSON.stringify(schema);
    return text.length > maxSchemaLength ? null : text;
  } catch {
    return null;
  }
}

/** Whether the schema takes the answer; null when the time was over. */
export function validateAnswer(schema: string, answer: unknown): boolean | null {
  const late = new Error("the schema takes too long");
  try {
    return runBounded(
      timeoutMs,
      () => late,
      () => new Validator(JSON.parse(schema), "2020-12").validate(answer).valid,
    );
  } catch (error) {
    return error === late ? null : false;
  }
}
