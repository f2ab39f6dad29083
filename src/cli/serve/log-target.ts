// Where `serve` logs: standard error, or a file.
import { constants, openSync, writeSync } from "node:fs";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import { createLineFile, type LineTarget } from "../../observe/line-file.js";
import { standardErrorTarget } from "../../observe/log.js";

/**
 * @param isTerminal whether standard error is one
 * @throws JudgeError `config` for a file that cannot be written
 */
export function logTarget({ file }: Config["log"], isTerminal: boolean): LineTarget {
  if (file === null) return standardErrorTarget(isTerminal);
  try {
    // without O_NONBLOCK a pipe that nobody reads would keep the start for ever
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
    const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
    // a full disk shows at the first line only
    writeSync(descriptor, '{"level":30,"msg":"starting"}\n');
    return createLineFile(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const found = `log.file: ${file} cannot be written (${code})`;
    throw new JudgeError("config", { found, remedy: "name a file in a writable folder", cause: error });
  }
}
