// `labels import routellm`: a clone of the RouteLLM repository → label rows as JSON lines.
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { saveFile } from "../checkpoint/save.js";
import { JudgeError } from "../errors.js";
import { importRoutellm, type RoutellmFile } from "../train/routellm.js";
import { readText } from "./label-file.js";
import type { Terminal } from "./terminal.js";

/** @throws JudgeError `usage` for a folder that is no clone, or a file that is not of its form */
export async function importRoutellmCommand(
  clone: string,
  output: string,
  terminal: Terminal,
): Promise<void> {
  const files = await readClone(clone);
  const { rows, duplicates, brokenColumns } = importRoutellm(files);
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  await saveFile(join(dirname(output), basename(output)), new TextEncoder().encode(lines));
  terminal.print(
    `${output}: ${rows.length} rows from ${files.length} files, ${duplicates} duplicates left out`,
  );
  for (const { group, model, solvedShare } of brokenColumns) {
    const share = (100 * solvedShare).toFixed(1);
    terminal.print(
      `${group}: ${model} solved ${share} % where another model solved over 30 %: recorded wrongly, its labels are null`,
    );
  }
}

async function readClone(clone: string): Promise<RoutellmFile[]> {
  const mmlu = join(clone, "evals", "mmlu", "responses");
  let names: string[];
  try {
    names = (await readdir(mmlu)).filter((name) => /^mmlu_.+\.csv$/.test(name)).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JudgeError(
      "usage",
      `${mmlu} cannot be read (${code}); give the folder of a clone of RouteLLM`,
      { cause: error },
    );
  }
  const paths = [
    ...names.map((name) => ({ group: name.slice("mmlu_".length, -".csv".length), path: join(mmlu, name) })),
    { group: "gsm8k", path: join(clone, "evals", "gsm8k", "gsm8k_responses.csv") },
  ];
  const files: RoutellmFile[] = [];
  for (const { group, path } of paths) files.push({ group, name: path, content: await readText(path) });
  return files;
}
