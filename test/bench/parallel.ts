// Whether a judge says the same to one client and to many: the same prompts, one by one and all at once.

import { promptOfWords } from "../support/prompts.js";
import { createClient } from "./client.js";

export interface ParallelResult {
  readonly judge: string;
  readonly clients: number;
  /** of p_solve, over all prompts; infinite when one was not judged */
  readonly largestDifference: number;
  readonly abstentions: number;
}

/** One prompt per client, from 10 to about 400 words. */
function prompts(clients: number): string[] {
  return Array.from({ length: clients }, (_, index) => promptOfWords(700 + index, 10 + index * 20));
}

/** p_solve of each prompt, asked by `atOnce` clients at the same time. */
export async function askAll(
  port: number,
  judge: string,
  { clients, atOnce }: { clients: number; atOnce: number },
): Promise<(number | null)[]> {
  const client = createClient(port, atOnce);
  try {
    const answers = await Promise.all(prompts(clients).map((prompt) => client.ask(judge, prompt)));
    return answers.map((answer) => answer.p_solve);
  } finally {
    client.close();
  }
}

export function comparePSolve(
  judge: string,
  alone: readonly (number | null)[],
  together: readonly (number | null)[],
): ParallelResult {
  const differences = alone.map((pSolve, index) => {
    const other = together[index] ?? null;
    return pSolve === null || other === null ? Number.POSITIVE_INFINITY : Math.abs(pSolve - other);
  });
  return {
    judge,
    clients: together.length,
    largestDifference: Math.max(...differences),
    abstentions: [...alone, ...together].filter((pSolve) => pSolve === null).length,
  };
}
