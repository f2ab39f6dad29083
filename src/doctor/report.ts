// What `doctor` found, as lines of a terminal and as JSON.

import { printable } from "../cli/terminal.js";
import type { Finding, FindingStatus } from "./finding.js";

export interface Section {
  readonly subject: "process" | "encoder" | "judge";
  /** null for the process */
  readonly id: string | null;
  readonly findings: readonly Finding[];
}

const width = 80;
const markWidth = Math.max(...["ok", "warning", "wrong", "skipped"].map((mark) => mark.length));
const checkWidth = 13;
const indent = " ".repeat(markWidth + checkWidth + 4);
/** A setting with its value, and a list, stay on one line where one holds them, to be pasted. */
const unbreakable = /(?:\w+ = )?\[[^\]]*\]\S*|\w+ = \S+|\S+/g;

/** A line for each check; what is too long goes on below itself. */
export function sectionText({ subject, id, findings }: Section): string {
  const title = id === null ? [] : ["", `${subject} ${printable(id)}`];
  return [...title, ...findings.flatMap(findingLines)].join("\n");
}

export function summaryText(sections: readonly Section[]): string {
  const { wrong, warnings } = countsOf(sections);
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  if (wrong > 0) {
    const also = warnings === 0 ? "" : `, ${plural(warnings, "warning")}`;
    return `\n${plural(wrong, "thing")} wrong${also}. Do what the arrows say, and run doctor again.`;
  }
  return warnings > 0 ? `\nNothing wrong, ${plural(warnings, "warning")}.` : "\nAll is well.";
}

export function toJson(sections: readonly Section[], version: string): string {
  const { wrong, warnings } = countsOf(sections);
  const checks = sections.flatMap(({ subject, id, findings }) =>
    findings.map((found) => ({ subject, id, ...found })),
  );
  return JSON.stringify({ version, ok: wrong === 0, wrong, warnings, checks }, null, 2);
}

function countsOf(sections: readonly Section[]): { wrong: number; warnings: number } {
  const count = (wanted: FindingStatus) =>
    sections.flatMap(({ findings }) => findings).filter(({ status }) => status === wanted).length;
  return { wrong: count("wrong"), warnings: count("warning") };
}

function findingLines({ status, check, found, advice }: Finding): string[] {
  const start = `${status.padEnd(markWidth)}  ${check.padEnd(checkWidth)}  `;
  const [first = "", ...rest] = wrapped(printable(found), width - indent.length);
  const todo = advice === null ? [] : wrapped(printable(advice), width - indent.length - 2);
  return [
    `${start}${first}`,
    ...rest.map((line) => `${indent}${line}`),
    ...todo.map((line, index) => `${indent}${index === 0 ? "→" : " "} ${line}`),
  ];
}

/** Lines of at most `columns`, but for words that are longer. */
function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  const words = text.match(unbreakable) ?? [];
  for (const word of words.flatMap((whole) => (whole.length > columns ? whole.split(" ") : [whole]))) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
