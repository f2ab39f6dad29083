// The answer to a router's custom mode: a group's name at a place in an object of the user's shape. Pure.
import { type ErrorText, JudgeError } from "../errors.js";
import { type ChoiceRule, chooseByRule } from "./choice.js";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = Readonly<Record<string, Json>>;

/** The table [judges.NAME.custom], as configured. */
export interface CustomSettings {
  /** JSON Pointer to the string that the router reads */
  readonly pointer: string;
  /** output of the checkpoint by group of models */
  readonly targets: Readonly<Record<string, string>>;
  readonly rule: ChoiceRule;
  /** by group; null: the checkpoint's */
  readonly costs: Readonly<Record<string, number>> | null;
  /** what else the answer holds */
  readonly template: JsonObject;
  /** the group of every request that cannot be judged */
  readonly defaultGroup: string;
}

/** A table that fits its checkpoint. */
export interface CustomVerdict extends CustomSettings {
  readonly path: readonly string[];
  readonly groups: readonly string[];
  /** in the order of `groups`; null: only the rule `max` does without */
  readonly groupCosts: readonly number[] | null;
}

/** What a checkpoint says of its outputs. */
export interface Outputs {
  readonly names: readonly string[];
  readonly costs: Readonly<Record<string, number>> | null;
}

/**
 * @param place how a message names the table, e.g. `judges.pool.custom`
 * @throws JudgeError `config` when table and checkpoint do not go together
 */
export function fitCustomVerdict(place: string, settings: CustomSettings, outputs: Outputs): CustomVerdict {
  const refuse = ({ found, remedy }: ErrorText): never => {
    throw new JudgeError("config", { found: `${place}.${found}`, remedy });
  };
  const { targets, costs, rule, defaultGroup } = settings;
  const groups = Object.keys(targets);
  for (const group of groups) {
    if (outputs.names.includes(targets[group]!)) continue;
    const known = outputs.names.map((name) => `"${name}"`).join(", ");
    refuse({ found: `targets.${group} is no output of the checkpoint`, remedy: `wanted one of ${known}` });
  }
  if (!groups.includes(defaultGroup)) {
    refuse({
      found: `default: "${defaultGroup}" is no group of targets`,
      remedy: `wanted one of ${groups.join(", ")}`,
    });
  }
  const lacking = costs === null ? [] : groups.filter((group) => !Object.hasOwn(costs, group));
  if (lacking.length > 0)
    refuse({ found: `costs lacks ${lacking.join(", ")}`, remedy: "give every group of targets a cost" });
  const found = costs ?? outputs.costs;
  if (found === null && rule.policy !== "max") {
    refuse({
      found: "costs is missing, and the checkpoint has none",
      remedy: `give every group a cost, or write policy = "max"`,
    });
  }
  const costOf = (group: string) => (costs === null ? found![targets[group]!]! : costs[group]!);
  const path = pointerPath(settings.pointer);
  const table = { ...settings, path, groups, groupCosts: found && groups.map(costOf) };
  try {
    renderCustom(table, defaultGroup);
  } catch {
    refuse({
      found: "pointer leads through a value of template that holds no others",
      remedy: "change one of them",
    });
  }
  return table;
}

/** The group that the table's rule chooses for probabilities by output. */
export function chooseGroup(
  { groups, targets, groupCosts, rule }: CustomVerdict,
  probabilities: Readonly<Record<string, number>>,
): string {
  const p = groups.map((group) => probabilities[targets[group]!]!);
  return groups[chooseByRule(rule, p, groupCosts)]!;
}

/**
 * The template with the group's name at the pointer.
 * @throws RangeError when the pointer leads through a value that holds no others
 */
export function renderCustom(
  { template, path }: Pick<CustomVerdict, "template" | "path">,
  group: string,
): Json {
  return put(template, path, group);
}

function put(node: Json, [token, ...rest]: readonly string[], value: string): Json {
  if (token === undefined) return value;
  if (Array.isArray(node)) {
    if (!/^(0|[1-9]\d*)$/.test(token) || Number(token) >= node.length)
      throw new RangeError("no such item of the list");
    return node.map((item, index) => (index === Number(token) ? put(item, rest, value) : item));
  }
  if (typeof node !== "object" || node === null) throw new RangeError("this value holds no others");
  const inner = Object.hasOwn(node, token) ? (node as JsonObject)[token]! : {};
  return { ...node, [token]: put(inner, rest, value) };
}

/** The keys of a JSON Pointer (RFC 6901): `/a~1b/c` → `a/b`, `c`. */
export function pointerPath(pointer: string): string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
