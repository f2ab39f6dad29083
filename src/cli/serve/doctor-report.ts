// What `doctor` found, as lines of a terminal and as JSON.

import type { Examined } from "../../doctor/doctor.js";
import type { Observation, ObservationStatus } from "../../encoder/observation.js";
import { printable } from "../terminal.js";

const width = 80;
const markWidth = Math.max(...["ok", "warning", "wrong", "skipped"].map((mark) => mark.length));
const checkWidth = 13;
const indent = " ".repeat(markWidth + checkWidth + 4);
/** A setting with its value, and a list, stay on one line where one holds them, to be pasted. */
const unbreakable = /(?:\w+ = )?\[[^\]]*\]\S*|\w+ = \S+|\S+/g;

/** A line for each check; what is too long goes on below itself. */
export function examinedText({ subject, id, findings }: Examined): string {
  const title = id === null ? [] : ["", `${subject} ${printable(id)}`];
  return [...title, ...findings.flatMap(findingLines)].join("\n");
}

export function summaryText(parts: readonly Examined[]): string {
  const { wrong, warnings } = countsOf(parts);
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  if (wrong > 0) {
    const also = warnings === 0 ? "" : `, ${plural(warnings, "warning")}`;
    return `\n${plural(wrong, "thing")} wrong${also}. Do what the arrows say, and run doctor again.`;
  }
  return warnings > 0 ? `\nNothing wrong, ${plural(warnings, "warning")}.` : "\nAll is well.";
}

export function toJson(parts: readonly Examined[], version: string): string {
  const { wrong, warnings } = countsOf(parts);
  const checks = parts.flatMap(({ subject, id, findings }) =>
    findings.map((found) => ({ subject, id, ...found })),
  );
  return JSON.stringify({ version, ok: wrong === 0, wrong, warnings, checks }, null, 2);
}

function countsOf(parts: readonly Examined[]): { wrong: number; warnings: number } {
  const count = (wanted: ObservationStatus) =>
    parts.flatMap(({ findings }) => findings).filter(({ status }) => status === wanted).length;
  return { wrong: count("wrong"), warnings: count("warning") };
}

function findingLines({ status, check, found, advice }: Observation): string[] {
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
