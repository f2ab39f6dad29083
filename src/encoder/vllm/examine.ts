// Looks at a vLLM encoder: its folder, its tokenizer, each server, and the servers against each other.

import { asJudgeError, JudgeError } from "../../errors.js";
import { readTokenizerFolder } from "../folder.js";
import { faultObservation, type Observation, observation } from "../observation.js";
import { loadTokenizer } from "../tokenizer/load.js";
import { tokenizeAll } from "../tokenizer/tokenize-all.js";
import { examineFolder } from "./examine-folder.js";
import { examineServer, type Served } from "./examine-server.js";
import { isAlike, sampleText } from "./likeness.js";
import type { VllmEncoderParts } from "./parts.js";

/** Never throws for what it finds. */
export async function examineVllm(parts: VllmEncoderParts): Promise<Observation[]> {
  const folder = await examineFolder(parts);
  const { ids, tokenizer } = await tokenizeSample(parts.folder);
  const prefillable = ids !== null && folder[0]!.status === "ok";
  const servers = await Promise.all(
    parts.baseUrls.map((url) => examineServer(url, parts, prefillable ? ids : null)),
  );
  const [first] = servers.filter(({ pooled }) => pooled !== null);
  const unlike = first === undefined ? [] : servers.flatMap((server) => unlikeObservation(first, server));
  return [tokenizer, ...folder, ...servers.flatMap(({ observations }) => observations), ...unlike];
}

async function tokenizeSample(
  folder: string,
): Promise<{ ids: readonly number[] | null; tokenizer: Observation }> {
  try {
    const { tokenizer: files } = await readTokenizerFolder(folder);
    const [tokens] = tokenizeAll(await loadTokenizer(files), [sampleText], {
      template: "none",
      maxTokens: 64,
      truncation: "right",
    });
    if (tokens instanceof JudgeError) throw tokens;
    const found = files.chatTemplate === null ? "no chat template" : "with a chat template";
    return { ids: tokens!.ids, tokenizer: observation("tokenizer", "ok", { found }) };
  } catch (error) {
    return { ids: null, tokenizer: faultObservation("tokenizer", asJudgeError(error)) };
  }
}

/** That a server gives for the same ids what the first one gives. */
function unlikeObservation(first: Served, server: Served): Observation[] {
  if (server === first || server.pooled === null) return [];
  if (isAlike(first.pooled!, server.pooled)) return [];
  const found = `${server.host} gives other hidden states than ${first.host}`;
  const advice = "serve the same model with the same eagle_aux_hidden_state_layer_ids on both";
  const values = { host: server.host, unlike: first.host };
  return [observation("hidden-states", "wrong", { found, advice, values })];
}
