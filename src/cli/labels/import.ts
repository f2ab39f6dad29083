// `labels import routellm`: a clone of the RouteLLM repository → label rows as JSON lines.
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { saveFile } from "../../checkpoint/save.js";
import { JudgeError } from "../../errors.js";
import { readText } from "../../labels/read-text.js";
import { importRoutellm, type RoutellmFile } from "../../labels/routellm.js";
import type { Terminal } from "../terminal.js";

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
  terminal.note(
    "the rows have no split, and the embedded judges were trained on a part of RouteLLM's records, on which they look too good: measure them on other rows; for a judge of your own, give every row a split, train or test",
  );
}

/** Where the records lie in a clone, in this year's and in earlier ones, or in their folder alone. */
const recordFolders = ["routellm/evals", "src/routellm/evals", "evals", "."];

async function readClone(clone: string): Promise<RoutellmFile[]> {
  const evals = await findRecords(clone);
  const mmlu = join(evals, "mmlu", "responses");
  const names = (await readdir(mmlu)).filter((name) => mmluFile.test(name)).sort();
  const paths = [
    ...names.map((name) => ({ group: name.slice("mmlu_".length, -".csv".length), path: join(mmlu, name) })),
    { group: "gsm8k", path: join(evals, "gsm8k", "gsm8k_responses.csv") },
  ];
  const files: RoutellmFile[] = [];
  for (const { group, path } of paths) files.push({ group, name: path, content: await readText(path) });
  return files;
}

const mmluFile = /^mmlu_.+\.csv$/;

/** @throws JudgeError `usage` where none of the folders has records of MMLU */
async function findRecords(clone: string): Promise<string> {
  for (const folder of recordFolders) {
    const names = await readdir(join(clone, folder, "mmlu", "responses")).catch(() => []);
    if (names.some((name) => mmluFile.test(name))) return join(clone, folder);
  }
  throw new JudgeError("usage", {
    found: `${clone} has no mmlu/responses/mmlu_*.csv in ${recordFolders.slice(0, -1).join(", ")} or itself`,
    remedy: "give the folder of a clone of RouteLLM",
  });
}
