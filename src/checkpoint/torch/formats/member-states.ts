// The state dicts of an ensemble's members, which both formats keep as a list.
import { Fields } from "../pickle/fields.js";

const maxMembers = 1000;

/** @throws JudgeError `checkpoint` for a list without members, or with too many */
export function memberStates(root: Fields, name: string): Fields[] {
  const states = root.list(name);
  if (states.length === 0 || states.length > maxMembers) {
    throw root.refusal(name, `${states.length} members`, `1 to ${maxMembers}`);
  }
  return states.map((state, index) => Fields.of(state, root.placeOf(`${name}.${index}`)));
}
