// The folder that a vLLM server and this process share, looked at once at the start.
import { stat } from "node:fs/promises";
import { JudgeError } from "../../errors.js";

const othersMayRead = 0o007;

/**
 * @returns a warning; null when there is nothing to warn of
 * @throws JudgeError `encoder` when there is no such folder
 */
export async function checkFolder(root: string): Promise<JudgeError | null> {
  const facts = await stat(root).catch((cause) => {
    throw new JudgeError("encoder", {
      found: `hidden_states_root cannot be read (${cause.code})`,
      remedy: "set it to the server's shared_storage_path",
      cause,
    });
  });
  if (!facts.isDirectory()) {
    throw new JudgeError("encoder", {
      found: "hidden_states_root is not a folder",
      remedy: "set it to the server's shared_storage_path",
    });
  }
  if ((facts.mode & othersMayRead) === 0) return null;
  return new JudgeError("encoder", {
    found:
      "every user of this machine can enter hidden_states_root, and hidden states tell what their texts say",
    remedy: "chmod it to 0700",
  });
}
