// Looks at one server of a vLLM encoder: what it serves, and one real prefill with its file.

import { withTimeout } from "../../abort.js";
import { asJudgeError } from "../../errors.js";
import type { PooledVectors } from "../../features/pooled.js";
import { faultObservation, type Observation, observation } from "../observation.js";
import { type Client, createClient } from "./client.js";
import { sameUserRemedy } from "./hidden-state-file.js";
import { createHiddenStateReader, type HiddenStates } from "./hidden-states.js";
import { sampleText } from "./likeness.js";
import { capturedIndices } from "./load.js";
import type { VllmEncoderParts } from "./parts.js";
import { prefillOn } from "./prefill.js";
import { replyLate } from "./server-faults.js";
import { createWorkSlices } from "./work-slices.js";

/** Of the models that a server offers, so many are named. */
const maxNames = 8;

export interface Served {
  readonly host: string;
  readonly observations: readonly Observation[];
  /** the mean of every captured row over the sample's tokens; null where none came */
  readonly pooled: PooledVectors | null;
}

/**
 * Never throws for what it finds.
 * @param ids of a sample; null where its file could not be read
 */
export async function examineServer(
  url: string,
  parts: VllmEncoderParts,
  ids: readonly number[] | null,
): Promise<Served> {
  const { host } = new URL(url);
  const client = createClient(url, { ...parts, maxInFlight: 1 });
  try {
    const server = await examineModels(client, parts).catch((error) => faultOf("server", host, error));
    if (server.status !== "ok") return { host, observations: [server], pooled: null };
    if (ids === null) {
      const found = `${host}: without folder or tokenizer none can be read`;
      const skipped = observation("hidden-states", "skipped", { found });
      return { host, observations: [server, skipped], pooled: null };
    }
    const tokens = await examineTokens(client, parts, ids);
    const { states, pooled } = await examinePrefill(client, parts, ids);
    return { host, observations: [server, ...tokens, states], pooled };
  } finally {
    client.close();
  }
}

async function examineModels(
  client: Client,
  { servedModel, timeoutMs }: VllmEncoderParts,
): Promise<Observation> {
  const { host } = client;
  const models = await inTime(timeoutMs, client.models);
  const ids = models.map(({ id }) => id);
  const values = { host, models: ids };
  const model = models.find(({ id }) => id === servedModel);
  if (model === undefined) {
    const found =
      ids.length === 0 ? "names no model in /v1/models" : `serves ${someOf(ids)}, not ${servedModel}`;
    const advice =
      ids.length === 0 ? "set base_url to a vLLM server" : "set served_model to the one that is meant";
    return observation("server", "wrong", { found: `${host} ${found}`, advice, values });
  }
  const context = model.contextLength === null ? "" : `, context ${model.contextLength} tokens`;
  return observation("server", "ok", {
    found: `${host} serves ${servedModel}${context}`,
    values: { ...values, context_length: model.contextLength },
  });
}

function someOf(ids: readonly string[]): string {
  const more = ids.length > maxNames ? ` and ${ids.length - maxNames} more` : "";
  return `${ids.slice(0, maxNames).join(", ")}${more}`;
}

/** Whether the server makes the same ids of a text, which is the only sign of another tokenizer there. */
async function examineTokens(
  client: Client,
  { timeoutMs }: VllmEncoderParts,
  ids: readonly number[],
): Promise<Observation[]> {
  const { host } = client;
  try {
    const theirs = await inTime(timeoutMs, (signal) => client.tokenize(sampleText, signal));
    const values = { host, tokens: theirs.length };
    if (theirs.join() === ids.join())
      return [observation("server-tokens", "ok", { found: `${host}: the same token ids`, values })];
    const found = `${host} makes other token ids of a text than the tokenizer in path`;
    const advice = "set path to the folder of the model that the server serves";
    return [observation("server-tokens", "wrong", { found, advice, values })];
  } catch {
    const found = `${host} has no /tokenize to compare token ids with`;
    return [observation("server-tokens", "skipped", { found, values: { host } })];
  }
}

/** One prefill, its file and what is in it. */
async function examinePrefill(
  client: Client,
  parts: VllmEncoderParts,
  ids: readonly number[],
): Promise<{ states: Observation; pooled: PooledVectors | null }> {
  const { host } = client;
  const captured = capturedIndices(parts);
  const request = {
    expected: { ids, captured, hiddenSize: null },
    wanted: { layers: captured, pooling: ["mean"] },
  } as const;
  const leftBehind: string[] = [];
  let named = "";
  const rules = {
    reader: createHiddenStateReader(createWorkSlices()),
    root: parts.hiddenStatesRoot,
    timeoutMs: parts.timeoutMs,
    fileTimeoutMs: parts.fileTimeoutMs,
    onLeftBehind: (code: string) => void leftBehind.push(code),
    onGivenUp() {},
    onNamed(path: string) {
      named = ` (it named ${path})`;
    },
  };
  const started = performance.now();
  try {
    const { states } = await prefillOn(client, request, rules, new AbortController().signal);
    const found = statesObservation(host, states, performance.now() - started, leftBehind[0]);
    return { states: found, pooled: states.pooled };
  } catch (error) {
    return { states: faultOf("hidden-states", host, error, named), pooled: null };
  }
}

function inTime<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withTimeout(timeoutMs, () => replyLate(timeoutMs), undefined, work);
}

/** @param leftBehind the error code where the file could not be removed */
function statesObservation(
  host: string,
  { pooled, hiddenSize, dtype }: HiddenStates,
  milliseconds: number,
  leftBehind: string | undefined,
): Observation {
  const values = { host, milliseconds, layers: pooled.size, hidden_size: hiddenSize, dtype };
  if (leftBehind !== undefined) {
    const found = `${host}: its file cannot be removed (${leftBehind})`;
    const advice = `${sameUserRemedy}; files that stay fill the folder`;
    return observation("hidden-states", "wrong", { found, advice, values });
  }
  const what = `${pooled.size} layer${pooled.size === 1 ? "" : "s"} of ${hiddenSize} values, ${dtype}`;
  return observation("hidden-states", "ok", {
    found: `${host}: ${what}, ${milliseconds.toFixed(0)} ms`,
    values,
  });
}

/** @param more stands behind what was found; may hold anything */
function faultOf(check: string, host: string, error: unknown, more = ""): Observation {
  const { found, advice } = faultObservation(check, asJudgeError(error));
  // the host stands before it
  const short = found.replace("the vLLM server's ", "its ").replace("the vLLM server ", "");
  return observation(check, "wrong", { found: `${host}: ${short}${more}`, advice, values: { host } });
}
