// The part of `routes check` about custom mode: whether route and judge agree on groups, selector and schema.
import { pointerPath, renderCustom } from "../../answer/custom.js";
import { schemaText, validateAnswer } from "../../answer/schema-validator.js";
import type { JudgeConfig } from "../../config/schema.js";
import type { Report } from "./route-fault.js";
import type { RouteTable } from "./routes-file.js";

/** @param place of the route's table */
export function checkCustomRoute(
  { models = {}, policy, response_schema: schema }: RouteTable,
  place: readonly string[],
  { id, custom }: JudgeConfig,
  report: Report,
): void {
  if (custom === null) {
    const found = `judge ${id} has no table [judges.${id}.custom], so that default_target gets every request`;
    report({ place: [...place, "mode"], found, remedy: 'write that table, or mode = "capability"' });
    return;
  }
  const groups = Object.keys(custom.targets);
  const lacking = groups.filter((group) => !Object.hasOwn(models, group));
  if (lacking.length > 0) {
    const found = `models has no ${lacking.join(", ")}, which judge ${id} may answer`;
    report({ place: [...place, "models"], found, remedy: `write ${lacking[0]} = [target]` });
  }
  const { pointer } = custom;
  if (policy?.selector !== undefined && policy.selector !== pointer) {
    const found = `judge ${id} answers at ${pointer}, so that default_target gets every request`;
    report({ place: [...place, "policy"], found, remedy: `write selector = "${pointer}"` });
  }
  const parsed = schema === undefined ? undefined : parse(schema);
  if (parsed === undefined) return;
  const text = schemaText(parsed);
  const path = pointerPath(pointer);
  const accepts = (group: string) =>
    text !== null && validateAnswer(text, renderCustom({ ...custom, path }, group));
  const refused = groups.filter((group) => accepts(group) !== true);
  if (refused.length === 0) return;
  report({
    place: [...place, "response_schema"],
    found: `this schema does not take what judge ${id} answers for ${refused.join(", ")}`,
    remedy: "allow it, or give the judge's template what the schema wants",
  });
}

/** The parsed text; undefined if it is not JSON, with which Switchyard does not start. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
