// The judges by the names clients call them by: ids and aliases.
import { JudgeError } from "../errors.js";
import type { Judge } from "./judge-parts.js";

export interface Registry {
  readonly judges: readonly Judge[];
  /** the judge of a request that names none: default_judge, else the first */
  readonly first: Judge;
  /** true while every judge is ready */
  readonly ready: boolean;
  /** ids and aliases, in the order of the configuration */
  readonly names: readonly string[];
  /**
   * The judge that `name` stands for: `first` where there is none; default_judge, where set, for a name nobody has.
   *
   * @throws JudgeError `model_not_found`
   */
  find(name: string | null | undefined): Judge;
  /** The judge that has `name` as id or alias; null when nobody has. */
  lookUp(name: string): Judge | null;
}

/**
 * @param defaultJudge an id or alias, or null
 * @throws JudgeError `config` when two judges share a name
 */
export function createRegistry(judges: readonly [Judge, ...Judge[]], defaultJudge: string | null): Registry {
  const byName = new Map<string, Judge>();
  for (const judge of judges) {
    for (const name of [judge.id, ...judge.aliases]) {
      const other = byName.get(name);
      if (other !== undefined) {
        throw new JudgeError("config", {
          found: `judges ${other.id} and ${judge.id} both answer to "${name}"`,
          remedy: "names are unique",
        });
      }
      byName.set(name, judge);
    }
  }
  const fallback = defaultJudge === null ? null : (byName.get(defaultJudge) ?? null);
  const first = fallback ?? judges[0];
  return {
    judges,
    first,
    names: [...byName.keys()],
    get ready() {
      return judges.every((judge) => judge.ready);
    },
    lookUp: (name) => byName.get(name) ?? null,
    find(name) {
      if (name == null) return first;
      const judge = byName.get(name) ?? fallback;
      if (judge !== null) return judge;
      throw new JudgeError(
        "model_not_found",
        {
          found: "no judge has this name",
          remedy: "GET /v1/models lists them, and default_judge in the configuration answers unknown names",
        },
        { param: "model" },
      );
    },
  };
}
