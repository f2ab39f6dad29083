// What `evaluate` does with the prompts of a label file, in a process of its own: milliseconds for a list of
// texts.
import { withNamedJudge } from "../../src/cli/chosen-judges.js";
import { predict } from "../../src/cli/score-rows.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { loadConfig } from "../../src/config/config.js";
import type { Judge } from "../../src/judge/judge-parts.js";
import { packagePath } from "../support/fixtures.js";

export interface PredictStart {
  readonly judge: string;
  readonly threads: number;
}

/** `predict` asks a terminal only whether it is one. */
const quiet = { errorIsTerminal: false } as Terminal;
let judge: Judge;

async function start({ judge: id, threads }: PredictStart): Promise<void> {
  const flags = { "--threads": `${threads}` };
  const config = loadConfig({ env: {}, flags, packageRoot: packagePath("") });
  await new Promise<void>((resolve) => {
    // the judge lives until the benchmark ends this process
    void withNamedJudge(config, id, (named) => {
      judge = named;
      resolve();
      return new Promise(() => {});
    });
  });
}

process.on("message", async (command: PredictStart | { texts: string[] }) => {
  if ("judge" in command) {
    await start(command);
    process.send!("started");
  } else {
    const started = performance.now();
    await predict([judge], command.texts, quiet);
    process.send!(performance.now() - started);
  }
});
process.on("disconnect", () => process.exit(0));
