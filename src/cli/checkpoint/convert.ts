// `convert`: writes a checkpoint of any format in another one. It adds nothing that the source does not say.
import { createHash } from "node:crypto";
import type { WritableFormat } from "../../checkpoint/checkpoint-content.js";
import { type Checkpoint, isTorchFile, loadCheckpoint } from "../../checkpoint/load.js";
import { writeRouterJson1, writeRouterJson2 } from "../../checkpoint/router-json-write.js";
import { saveFile, saveFiles } from "../../checkpoint/save.js";
import { writeSelftest } from "../../checkpoint/selftest.js";
import { writeSwitchyard } from "../../checkpoint/torch/formats/switchyard-write.js";
import { JudgeError } from "../../errors.js";
import type { Terminal } from "../terminal.js";

export interface ConvertOptions {
  readonly format: WritableFormat;
  /** absent: those of the source */
  readonly chatTemplateKwargs?: Checkpoint["chatTemplateKwargs"] | undefined;
}

/**
 * @param output a folder, or for Switchyard's format a .pt file
 * @throws JudgeError `checkpoint` for a source that cannot be read, or a head that the format cannot hold
 */
export async function convert(
  input: string,
  output: string,
  { format, chatTemplateKwargs }: ConvertOptions,
  terminal: Terminal,
): Promise<void> {
  const checkpoint = await loadCheckpoint(input);
  await save({ ...checkpoint, ...(chatTemplateKwargs && { chatTemplateKwargs }) }, output, format);
  const written = await loadCheckpoint(output);
  terminal.print(
    `${output}: ${written.format}, hash ${written.hash}, ${written.head.outputNames.length} output(s)`,
  );
}

const folderWriters = {
  "router-json-1": writeRouterJson1,
  "router-json-2": (checkpoint: Checkpoint) => writeRouterJson2(checkpoint, sha256),
};

async function save(checkpoint: Checkpoint, output: string, format: WritableFormat): Promise<void> {
  if (format === "switchyard-0.3.0") {
    if (!isTorchFile(output)) {
      const found = `${output}: Switchyard's format is one file`;
      throw new JudgeError("usage", { found, remedy: "name it NAME.pt" });
    }
    await saveFile(output, writeSwitchyard(checkpoint));
    return;
  }
  if (isTorchFile(output)) {
    const found = `${output}: ${format} is a folder`;
    throw new JudgeError("usage", { found, remedy: "leave .pt out of its name" });
  }
  const { selftest, notice } = checkpoint;
  const beside = {
    "selftest.json": selftest && writeSelftest(selftest),
    "notice.txt": notice === null ? null : new TextEncoder().encode(`${notice}\n`),
  };
  const present = Object.entries(beside).filter((entry): entry is [string, Uint8Array] => entry[1] !== null);
  const stale = Object.keys(beside).filter((name) => !present.some(([other]) => other === name));
  await saveFiles(output, { ...folderWriters[format](checkpoint), ...Object.fromEntries(present) }, stale);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
