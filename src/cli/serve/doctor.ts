// `doctor`: prints what an examination of the configured judges finds.
import { readFile } from "node:fs/promises";
import * as z from "zod";
import type { Config } from "../../config/config.js";
import { type Examined, examine } from "../../doctor/doctor.js";
import { encoderRuntime } from "../../server/encoders.js";
import { commandRuntime, configuredJudge } from "../chosen-judges.js";
import type { Terminal } from "../terminal.js";
import { examinedText, summaryText, toJson } from "./doctor-report.js";

export interface DoctorOptions {
  /** id or alias of the only judge to look at; absent: all */
  readonly judge?: string | undefined;
  readonly json: boolean;
}

const Package = z.looseObject({ engines: z.looseObject({ node: z.string() }) });

/**
 * @returns true where nothing is wrong, whatever the warnings
 * @throws JudgeError `usage` for an unknown judge
 */
export async function doctor(config: Config, options: DoctorOptions, terminal: Terminal): Promise<boolean> {
  const judges = options.judge === undefined ? config.judges : [configuredJudge(config, options.judge)];
  const content = await readFile(new URL("package.json", terminal.packageRoot), "utf8");
  const { engines } = Package.parse(JSON.parse(content));
  const facts = { version: terminal.version, nodeVersion: process.versions.node, wantedNode: engines.node };
  const runtime = encoderRuntime(commandRuntime(config));
  const parts: Examined[] = [];
  for await (const part of examine(config, { judges, runtime, facts })) {
    parts.push(part);
    if (!options.json) terminal.print(examinedText(part));
  }
  terminal.print(options.json ? toJson(parts, terminal.version) : summaryText(parts));
  return parts.every(({ findings }) => findings.every(({ status }) => status !== "wrong"));
}
