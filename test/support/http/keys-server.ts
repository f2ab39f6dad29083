// A server made from a configuration file with files beside it, and from environment variables. Its encoders
// are not started: every judge abstains.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, loadConfig } from "../../../src/config/config.js";
import { packagePath } from "../fixtures.js";
import { type JudgeServer, startConfigured } from "../judge-server.js";

export interface KeySources {
  /** configuration text */
  readonly toml: string;
  readonly env?: Readonly<Record<string, string>>;
  /** content by file name */
  readonly files?: Readonly<Record<string, string>>;
}

/** The configuration of these sources. */
export function configOf({ toml, env = {}, files = {} }: KeySources): Config {
  const folder = mkdtempSync(join(tmpdir(), "judge-keys-"));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const file = join(folder, "prefill-judge.toml");
    writeFileSync(file, toml);
    return loadConfig({ file, env, flags: { "--port": "0" }, packageRoot: packagePath("") });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function startKeyedServer(sources: KeySources): Promise<JudgeServer> {
  return await startConfigured((toml) => configOf({ ...sources, toml }), sources.toml, false);
}
