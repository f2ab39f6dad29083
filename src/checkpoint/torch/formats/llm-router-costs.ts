// What each target of an llm-router checkpoint costs. Names and encoders must be those of the head.
import { Fields } from "../pickle/fields.js";

const cost = "cost_per_m_input_tokens";

/**
 * The price of a million input tokens by output name; null unless every output has one. llm-router also
 * trains without targets, or with targets for some of its models only.
 */
export function readCosts(
  pool: Fields,
  outputNames: readonly string[],
  encoderName: string,
): Readonly<Record<string, number>> | null {
  pool.list("encoders").forEach((value, index) => {
    Fields.of(value, pool.placeOf(`encoders.${index}`)).expect("hf_path", encoderName);
  });
  const costs = new Map<string, number | null>();
  const targets = pool.has("targets") && pool.take("targets") !== null ? pool.list("targets") : [];
  targets.forEach((value, index) => {
    const target = Fields.of(value, pool.placeOf(`targets.${index}`));
    const name = target.text("name");
    if (!outputNames.includes(name) || costs.has(name)) {
      throw target.refusal("name", "a target that is none of model_names or a second time", "each once");
    }
    if (target.has("encoder")) target.expect("encoder", encoderName);
    const isPriced = target.has(cost) && target.take(cost) !== null;
    costs.set(name, isPriced ? target.amount(cost) : null);
  });
  const known = outputNames.flatMap((name) => {
    const amount = costs.get(name) ?? null;
    return amount === null ? [] : [[name, amount] as const];
  });
  return known.length === outputNames.length ? Object.fromEntries(known) : null;
}
