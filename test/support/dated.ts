// A tiny encoder whose chat template prints the date, labels for it, and processes with another clock.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixturePath } from "./fixtures.js";

/** Writes `encoder` and `labels.jsonl` into the folder. */
export function makeDated(folder: string): { encoder: string; labels: string } {
  const [encoder, labels] = [join(folder, "encoder"), join(folder, "labels.jsonl")];
  cpSync(fixturePath("tiny-encoder"), encoder, { recursive: true });
  const template = join(encoder, "chat_template.jinja");
  const plain = readFileSync(template, "utf8");
  writeFileSync(
    template,
    `{%- if not date_string is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- endif %}{{- "Today Date: " + date_string + "\\n" }}${plain}`,
  );
  const rows = Array.from({ length: 120 }, (_, index) => ({
    prompt:
      index % 2 === 0 ? `Add ${index} and ${index * 7}.` : `Explain the history of town number ${index}.`,
    labels: { weak: index % 2 === 0 ? index % 20 !== 0 : index % 15 === 1 },
  }));
  writeFileSync(labels, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return { encoder, labels };
}

/** The arguments that train with them. */
export function datedTraining({ encoder, labels }: ReturnType<typeof makeDated>, out: string): string[] {
  return [
    ...["train", "--labels", labels, "--encoder", encoder, "--layer", "3", "--pca", "8"],
    ...["--no-calibration", "--out", out, "--cache", `${encoder}-features`],
  ];
}

/** The environment in which the clock of a process and of its children starts at this time. */
export function clockStartsAt(time: string): { NODE_OPTIONS: string } {
  const shifted = `const Real = Date, shift = ${Date.parse(time)} - Real.now(); globalThis.Date = class extends Real { constructor(...given) { given.length ? super(...given) : super(Real.now() + shift); } static now() { return Real.now() + shift; } };`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(shifted)}` };
}
