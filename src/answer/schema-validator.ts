// Validates an answer against a stranger's JSON Schema: its size and the time it takes are bounded (patterns, recursion and
// references included), nothing is fetched, no code is made of it. Nothing else runs on its thread meanwhile.
import { type Context, createContext, Script } from "node:vm";
import { Validator } from "@cfworker/json-schema";

/** A route's own schema has some hundred characters. */
const maxSchemaLength = 65_536;
/** An answer is checked in under a millisecond; a busy machine may not let the thread run for a while. */
const timeoutMs = 300;

/** Whether the schema takes the answer; null when the time was over. */
export type SchemaValidator = (schema: string, answer: unknown) => boolean | null;

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

export function createSchemaValidator(): SchemaValidator {
  const context = createContext({});
  const validate: SchemaValidator = (schema, answer) => validateInTime(context, schema, answer);
  // compiles what the first answer would otherwise wait for
  validate(JSON.stringify({ properties: { a: { enum: ["b"] } } }), { a: "b" });
  return validate;
}

const script = new Script("work()");

/** node:vm ends what runs longer than it may, a pattern's search included; the validator itself lies outside of the context. */
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
