// How long a run will take: a fixed cost and a cost per token, by medians of earlier runs. Pure.

export interface RunCost {
  /** A run has ended. `guessed`: the tokens that were expected of it. */
  observe(run: { readonly guessed: number; readonly tokens: number; readonly milliseconds: number }): void;
  /** milliseconds of a run of so many tokens, as likely more as less; 0 before the first run */
  expected(tokens: number): number;
  /** nearly every run took at least this part of what was expected; 0 until enough runs are known */
  readonly leastPart: number;
}

/** Runs remembered of each size (powers of two), so that short runs do not drive out long ones. */
const runsOfSize = 8;
/** Runs compared with what was expected of them, and how many it takes before the comparison counts. */
const comparedRuns = 32;
const enoughRuns = 8;
/** One run in so many may take less than the least part. */
const luckyRuns = 10;

interface Line {
  readonly fixed: number;
  readonly perToken: number;
}

interface Point {
  readonly tokens: number;
  readonly milliseconds: number;
}

export function createRunCost(): RunCost {
  const bySize = new Map<number, Point[]>();
  const ratios: number[] = [];
  /** both null when they are to be told anew */
  let least: number | null = 0;
  let line: Line | null = { fixed: 0, perToken: 0 };
  const expected = (tokens: number) => {
    line ??= fitLine([...bySize.values()].map(middle));
    return line.fixed + line.perToken * tokens;
  };

  return {
    observe({ guessed, tokens, milliseconds }) {
      if (bySize.size > 0) push(ratios, milliseconds / Math.max(expected(guessed), 1e-3), comparedRuns);
      const size = Math.floor(Math.log2(Math.max(1, tokens)));
      const points = bySize.get(size) ?? [];
      push(points, { tokens, milliseconds }, runsOfSize);
      bySize.set(size, points);
      line = null;
      least = null;
    },
    expected,
    get leastPart() {
      least ??= leastOf(ratios);
      return least;
    },
  };
}

function leastOf(ratios: readonly number[]): number {
  if (ratios.length < enoughRuns) return 0;
  return Math.min(ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / luckyRuns)]!, 1);
}

function push<T>(list: T[], entry: T, most: number): void {
  list.push(entry);
  if (list.length > most) list.shift();
}

/** The run of the middle cost per token; of two the cheaper one, since the first run of all is a slow one. */
function middle(points: readonly Point[]): Point {
  const sorted = points.toSorted((a, b) => a.milliseconds / a.tokens - b.milliseconds / b.tokens);
  return sorted[(sorted.length - 1) >> 1]!;
}

/** Theil and Sen's line: the median of the slopes between each two points. One point alone tells no slope. */
function fitLine(points: readonly Point[]): Line {
  const slopes = points.flatMap((one, index) =>
    points.slice(index + 1).flatMap((other) => {
      const distance = other.tokens - one.tokens;
      return distance === 0 ? [] : [(other.milliseconds - one.milliseconds) / distance];
    }),
  );
  const perToken = Math.max(0, median(slopes));
  const fixed = Math.max(
    0,
    median(points.map(({ tokens, milliseconds }) => milliseconds - perToken * tokens)),
  );
  return { fixed, perToken };
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1]!;
}
