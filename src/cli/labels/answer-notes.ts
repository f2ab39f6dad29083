// What a user should know of prompts that were answered more than once: a line for each output that has such.
import type { OutputCount } from "../../labels/report.js";

export function answerNotes(counts: readonly OutputCount[]): string[] {
  return counts.flatMap(({ output, rows, answers, mixed }) => {
    if (answers === rows && mixed === 0) return [];
    return [
      `${output}: ${answers} answers to ${rows} prompts, of which ${mixed} were solved in some and not in others; their share counts, by the number of answers`,
    ];
  });
}
