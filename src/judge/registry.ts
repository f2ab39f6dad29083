// The judges by their names, ids and aliases, each with the settings of its verdicts.
import { JudgeError } from "../errors.js";
import type { Judge } from "./judge-parts.js";

/** A judge in service, and how its judgements become verdicts. */
export interface Served<Verdict> {
  readonly judge: Judge;
  readonly verdict: Verdict;
}

export interface Registry<Verdict = unknown> {
  readonly judges: readonly Judge[];
  /** the judge of a request that names none: default_judge, else the first */
  readonly first: Served<Verdict>;
  /** true while every judge is ready */
  readonly ready: boolean;
  /** ids and aliases, in the order of the configuration */
  readonly names: readonly string[];
  /**
   * The judge that a request names: `first` without a name, default_judge for a name nobody has.
   * @throws JudgeError `model_not_found` where default_judge is not set
   */
  find(name: string | null | undefined): Served<Verdict>;
  /** The judge that has `name` as id or alias; null when nobody has. */
  lookUp(name: string): Served<Verdict> | null;
}

/**
 * @param defaultJudge an id or alias, or null
 * @throws JudgeError `config` when two judges share a name
 */
export function createRegistry<Verdict>(
  all: readonly [Served<Verdict>, ...Served<Verdict>[]],
  defaultJudge: string | null,
): Registry<Verdict> {
  const byName = new Map<string, Served<Verdict>>();
  for (const served of all) {
    const { judge } = served;
    for (const name of [judge.id, ...judge.aliases]) {
      const other = byName.get(name)?.judge;
      if (other !== undefined) {
        throw new JudgeError("config", {
          found: `judges ${other.id} and ${judge.id} both answer to "${name}"`,
          remedy: "names are unique",
        });
      }
      byName.set(name, served);
    }
  }
  const fallback = defaultJudge === null ? null : (byName.get(defaultJudge) ?? null);
  const first = fallback ?? all[0];
  const judges = all.map(({ judge }) => judge);
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
      const served = byName.get(name) ?? fallback;
      if (served !== null) return served;
      throw new JudgeError("model_not_found", {
        found: "no judge has this name",
        remedy: "GET /v1/models lists them, and default_judge in the configuration answers unknown names",
        param: "model",
      });
    },
  };
}
