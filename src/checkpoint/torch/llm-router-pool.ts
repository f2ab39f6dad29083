// The pool of an llm-router checkpoint: what each target costs. Names and encoders must be those of the head.
import { Fields } from "./pickle-fields.js";

const cost = "cost_per_m_input_tokens";

/** Price of a million input tokens by output name; null where no target has one. */
export function readPool(
  pool: Fields,
  outputNames: readonly string[],
  encoderName: string,
): Readonly<Record<string, number>> | null {
  pool.list("encoders").forEach((value, index) => {
    Fields.of(value, pool.placeOf(`encoders.${index}`)).expect("hf_path", encoderName);
  });
  const costs = new Map<string, number | null>();
  pool.list("targets").forEach((value, index) => {
    const target = Fields.of(value, pool.placeOf(`targets.${index}`));
    const name = target.text("name");
    if (!outputNames.includes(name) || costs.has(name)) {
      throw target.refusal(
        "name",
        "found a target that is none of model_names or a second time, wanted each once",
      );
    }
    if (target.has("encoder")) target.expect("encoder", encoderName);
    costs.set(name, target.has(cost) ? target.amount(cost) : null);
  });
  const missing = outputNames.filter((name) => !costs.has(name)).length;
  if (missing > 0)
    throw pool.refusal("targets", `found ${missing} of model_names without a target, wanted all`);
  const known = outputNames.flatMap((name) => {
    const amount = costs.get(name) ?? null;
    return amount === null ? [] : [[name, amount] as const];
  });
  if (known.length === 0) return null;
  if (known.length === outputNames.length) return Object.fromEntries(known);
  throw pool.refusal(
    "targets",
    `found ${cost} in ${known.length} of ${outputNames.length}, wanted it in all or none`,
  );
}
