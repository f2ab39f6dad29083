// `convert`: writes a checkpoint of any format in another one. It adds nothing that the source does not say,
// but a selftest that is asked for.
import { createHash } from "node:crypto";
import type { WritableFormat } from "../../checkpoint/checkpoint-content.js";
import { type Checkpoint, isTorchFile, loadCheckpoint } from "../../checkpoint/load.js";
import { writeRouterJson1, writeRouterJson2 } from "../../checkpoint/router-json-write.js";
import { saveFile, saveFiles } from "../../checkpoint/save.js";
import { writeSelftest } from "../../checkpoint/selftest.js";
import { writeSwitchyard } from "../../checkpoint/torch/formats/switchyard-write.js";
import type { Config } from "../../config/config.js";
import { JudgeError } from "../../errors.js";
import type { Terminal } from "../terminal.js";
import { recordSelftest } from "./record-selftest.js";

export interface ConvertCommand {
  readonly format: WritableFormat;
  /** absent: those of the source */
  readonly chatTemplateKwargs?: Checkpoint["chatTemplateKwargs"] | undefined;
  /** a selftest is made anew; a text is the file of its prompts */
  readonly selftest?: string | true | undefined;
  readonly encoder?: string | undefined;
  readonly acceptEncoder?: string | undefined;
}

export interface Conversion {
  readonly input: string;
  /** a folder, or for Switchyard's format a .pt file */
  readonly output: string;
  /** null where no encoder is needed */
  readonly config: Config | null;
}

/**
 * @throws JudgeError `checkpoint` for a source that cannot be read, or a head that the format cannot hold;
 *   `usage` for a selftest without an encoder
 */
export async function convert(
  { input, output, config }: Conversion,
  { format, chatTemplateKwargs, ...options }: ConvertCommand,
  terminal: Terminal,
): Promise<void> {
  const checkpoint = await loadCheckpoint(input);
  const changed = { ...checkpoint, ...(chatTemplateKwargs && { chatTemplateKwargs }) };
  const { encoder, acceptEncoder, selftest } = options;
  if (config !== null && encoder === undefined)
    throw new JudgeError("usage", {
      found: "--selftest needs --encoder: a folder with model.onnx, or a configured encoder",
    });
  if (config !== null && encoder !== undefined) {
    const prompts = selftest === true ? undefined : selftest;
    const request = { checkpoint: input, encoder, acceptEncoder, prompts };
    await save({ ...changed, selftest: await recordSelftest(config, request, terminal) }, output, format);
  } else await save(changed, output, format);
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
