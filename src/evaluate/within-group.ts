// AUC inside groups: how well a judge orders the prompts of one kind.
import { aucOf, type Sample } from "./metrics.js";

/** Rows by group, each group's by ascending p. */
export type GroupOrders = readonly Uint32Array[];

/** @param groups a group for each row of the sample; rows with null belong to none */
export function groupOrders(sample: Sample, groups: readonly (string | null)[]): GroupOrders {
  const rows = new Map<string, number[]>();
  for (const row of sample.order) {
    const group = groups[row]!;
    if (group === null) continue;
    const members = rows.get(group);
    if (members === undefined) rows.set(group, [row]);
    else members.push(row);
  }
  return [...rows.values()].map((members) => Uint32Array.from(members));
}

/** Mean AUC of the groups that have both classes, each counted by its weight; null where none has. */
export function withinGroupAuc(
  { p, solved }: Sample,
  orders: GroupOrders,
  weight: Float64Array,
): number | null {
  let sum = 0;
  let total = 0;
  for (const order of orders) {
    const value = aucOf(order, { p, solved, weight });
    if (value === null) continue;
    let groupWeight = 0;
    for (const row of order) groupWeight += weight[row]!;
    sum += value * groupWeight;
    total += groupWeight;
  }
  return total > 0 ? sum / total : null;
}
