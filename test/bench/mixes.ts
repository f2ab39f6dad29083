// The two kinds of traffic of the benchmark: chat messages, and long prompts. Every prompt is another one, so
// that no cache answers. Pure.
import { promptOfTokens } from "../support/prompts.js";
import type { Subject } from "./subjects.js";

export interface Prompt {
  readonly text: string;
  readonly ids: readonly number[];
}

export interface Mix {
  readonly name: "chat" | "long";
  /**
   * tokens of the prompts in turn, the template's included; an odd number, so that the median is of one
   * length
   */
  readonly tokens: readonly number[];
  /** of one client, and the prompts of each */
  readonly rounds: number;
  readonly alone: number;
  /** of many clients, and the least prompts of each */
  readonly crowdRounds: number;
  readonly together: number;
}

export const mixes: readonly Mix[] = [
  {
    name: "chat",
    tokens: [40, 52, 64, 72, 80, 104, 145],
    rounds: 21,
    alone: 14,
    crowdRounds: 5,
    together: 98,
  },
  { name: "long", tokens: [300, 420, 600, 900, 1500], rounds: 5, alone: 5, crowdRounds: 5, together: 10 },
];

/**
 * Gives prompts of a mix, never the same one twice; sources whose `first` lie far enough apart share none.
 */
export function createPromptSource(
  { tokenIds }: Subject,
  { tokens }: Mix,
  first: number,
): (count: number) => Prompt[] {
  let next = first;
  return (count) =>
    Array.from({ length: count }, () => {
      const place = next++;
      const size = tokens[place % tokens.length]!;
      const text = promptOfTokens(place, size, (candidate) => tokenIds(candidate).length);
      return { text, ids: tokenIds(text) };
    });
}
