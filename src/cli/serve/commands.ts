// The commands that judge, show routes and look after the set-up. Each is imported when it runs.
import type { Command } from "commander";
import { baseUrl } from "../../config/base-url.js";
import { configFileVariable } from "../../config/schema.js";
import { JudgeError } from "../../errors.js";
import { decodeText } from "../../input/decode-text.js";
import { readRegularFileSync } from "../../input/regular-file.js";
import { configOf, encoderFlags, numberOf, withSettings } from "../command-options.js";
import { routesToml } from "../routes/routes-text.js";
import type { Terminal } from "../terminal.js";

/** Where routers reach the server, and how patient they must be. */
const routeFlags = ["--host", "--port", "--default-judge", "--deadline-ms"];
const maxRoutesBytes = 16 * 2 ** 20;

/** @param onWrong told when a command has found something to mend */
export function addServeCommands(program: Command, terminal: Terminal, onWrong: () => void): void {
  withSettings(program.command("serve").description("serve the configured judges over HTTP"))
    .option("--watch", "load the judges anew when a file changes that they are made of")
    .action(async (_, command) => {
      const { serve } = await import("./serve.js");
      const { watch, config } = command.opts() as { watch?: boolean; config?: string };
      const configFile = config ?? process.env[configFileVariable];
      await serve(
        (running) => configOf(command, terminal, running),
        { watch: watch === true, configFile },
        terminal,
      );
    });

  withSettings(program.command("score").description("judge a prompt, or a file of prompts, and exit"), [
    "--default-judge",
    ...encoderFlags,
  ])
    .argument("[prompt]", "the prompt; without it and without --file, standard input")
    .option("--file <file>", 'JSON lines with a string "prompt"; prints one JSON line each')
    .option("--judge <name>", "id or alias of the judge")
    .action(async (prompt: string | undefined, options: { file?: string; judge?: string }, command) => {
      const { score } = await import("./score.js");
      await score(
        configOf(command, terminal),
        { prompt, file: options.file, judge: options.judge },
        terminal,
      );
    });

  const routes = withSettings(
    program.command("routes").description("print Switchyard's routes.toml for the configuration"),
    routeFlags,
  )
    .option("--threshold <number>", "base_threshold of the route, as calibrate gives it", numberOf)
    .action(({ threshold }: { threshold?: number }, command) => {
      if (threshold !== undefined && !(threshold >= 0 && threshold <= 1))
        throw new JudgeError("usage", { found: `--threshold: found ${threshold}`, wanted: "0 to 1" });
      const config = configOf(command, terminal);
      terminal.print(routesToml(config, baseUrl(config.server.host, config.server.port), threshold));
    });

  withSettings(
    routes.command("check").description("say what is wrong for this judge in a Switchyard file"),
    routeFlags,
  )
    .argument("<file>", "routes.toml")
    .action(async (file: string, _, command) => {
      const { checkRoutes } = await import("../routes/check.js");
      const findings = checkRoutes(file, readText(file), configOf(command, terminal));
      for (const { line, severity, message } of findings)
        terminal.print(`${file}:${line}: ${severity}: ${message}`);
      if (findings.length === 0) terminal.print(`${file}: nothing to change`);
      const errors = findings.filter(({ severity }) => severity === "error").length;
      if (errors > 0)
        throw new JudgeError("usage", {
          found: `${file}: ${errors} error(s)`,
          remedy: "change the lines above",
        });
    });

  withSettings(
    program
      .command("doctor")
      .description("say whether everything that a judge needs is right, and what to change"),
    [...encoderFlags, "--deadline-ms"],
  )
    .option("--judge <name>", "id or alias of the only judge to look at")
    .option("--json", "as JSON")
    .action(async (options: { judge?: string; json?: boolean }, command) => {
      const { doctor } = await import("./doctor.js");
      const { judge, json } = options;
      const isWell = await doctor(configOf(command, terminal), { judge, json: json === true }, terminal);
      if (!isWell) onWrong();
    });
}

function readText(file: string): string {
  const remedy = "give the path of a file";
  const wanted = { path: file, name: file, code: "usage", remedy, maxBytes: maxRoutesBytes } as const;
  return decodeText(readRegularFileSync(wanted), file, "usage");
}
