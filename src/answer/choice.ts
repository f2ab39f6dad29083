// Which of several models a request goes to, by probability and cost, for serving and evaluation. Pure.

export const choicePolicies = ["tolerance", "max", "utility"] as const;

/** The cheapest of those nearly as likely as the best, the likeliest, or the most useful. */
export type ChoiceRule =
  | { readonly policy: "tolerance"; readonly tolerance: number }
  | { readonly policy: "max" }
  | { readonly policy: "utility"; readonly lambda: number };

/** The cheapest output with p ≥ p_max − tolerance; of equally cheap ones the likelier, then the first. */
export function chooseByTolerance(
  p: readonly number[],
  costs: readonly number[] | null,
  tolerance: number,
): number {
  const least = Math.max(...p) - tolerance - Number.EPSILON;
  let chosen = -1;
  for (let output = 0; output < p.length; output++) {
    if (p[output]! < least) continue;
    const cheaper = chosen < 0 ? -1 : (costs?.[output] ?? 0) - (costs?.[chosen] ?? 0);
    if (cheaper < 0 || (cheaper === 0 && p[output]! > p[chosen]!)) chosen = output;
  }
  return chosen;
}

/** The output with the highest λ·p − (1 − λ)·cost ÷ highest cost; on a tie the cheaper one. */
export function chooseByUtility(p: readonly number[], costs: readonly number[], lambda: number): number {
  const highest = Math.max(...costs);
  const utility = p.map(
    (probability, output) =>
      lambda * probability - (1 - lambda) * (highest > 0 ? costs[output]! / highest : 0),
  );
  return chooseByTolerance(utility, costs, 0);
}

/**
 * The chosen output's index.
 * @param costs in the order of `p`; null where none is known, which only `max` allows
 */
export function chooseByRule(
  rule: ChoiceRule,
  p: readonly number[],
  costs: readonly number[] | null,
): number {
  switch (rule.policy) {
    case "tolerance":
      return chooseByTolerance(p, costs, rule.tolerance);
    case "utility":
      return costs === null ? chooseByTolerance(p, null, 0) : chooseByUtility(p, costs, rule.lambda);
    case "max":
      return chooseByTolerance(p, costs, 0);
  }
}
