// The files whose change means other judges.
import { join } from "node:path";
import { isTorchFile, torchSelftest } from "../checkpoint/load.js";
import { type Config, usedEncoders } from "../config/config.js";
import { encoderFiles } from "./encoders.js";

/**
 * Every file that the judges are made of. Of a configuration that cannot be read, the configuration alone.
 * @param configFile undefined: there is none
 */
export async function watchedFiles(
  readConfig: () => Config,
  configFile: string | undefined,
): Promise<string[]> {
  const own = configFile === undefined ? [] : [configFile];
  try {
    const config = readConfig();
    const { judges } = config;
    const encoders = usedEncoders(config);
    const names = ["router.json", "router.safetensors", "selftest.json"];
    const checkpoints = judges.flatMap(({ checkpoint: path }) =>
      isTorchFile(path) ? [path, torchSelftest(path)] : names.map((name) => join(path, name)),
    );
    return [...own, ...checkpoints, ...(await Promise.all(encoders.map(encoderFiles))).flat()];
  } catch {
    return own;
  }
}
