// Checks the path of the file that a vLLM server names. Opens nothing, removes nothing.
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { type ErrorParts, JudgeError } from "../../errors.js";
import { isOwnName } from "./own-files.js";

/** Where what was left is not what vLLM leaves. */
export const connectorRemedy = "start the server with the ExampleHiddenStatesConnector";

/**
 * `path` with its folder resolved.
 * @param path as the server gave it
 * @param root the only folder that may hold it
 * @throws JudgeError `encoder_error` for a path that breaks a rule; it may be anybody's file and is left
 *   alone
 */
export async function checkedPath(path: string, root: string): Promise<string> {
  const remedy = "set it to the server's shared_storage_path";
  const outside = { found: "the vLLM server named a file outside hidden_states_root", remedy };
  if (!isAbsolute(path) || path.includes("\0")) throw fault(outside);
  if (!isOwnName(basename(path))) {
    throw fault({
      found: "the vLLM server named a file that is not named cmpl-….safetensors",
      remedy: connectorRemedy,
    });
  }
  let folder: string;
  let allowed: string;
  try {
    [folder, allowed] = await Promise.all([realpath(dirname(path)), realpath(root)]);
  } catch (cause) {
    throw fault({ ...outside, cause });
  }
  if (folder === allowed) return join(folder, basename(path));
  const isBelow = folder.startsWith(allowed.endsWith(sep) ? allowed : `${allowed}${sep}`);
  if (!isBelow) throw fault(outside);
  throw fault({ found: "the vLLM server named a file in a folder below hidden_states_root", remedy });
}

function fault(parts: ErrorParts): JudgeError {
  return new JudgeError("encoder_error", parts);
}
