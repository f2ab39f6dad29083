// Looks at one server of a vLLM encoder: what it serves, and one real prefill with its file.

import { asJudgeError } from "../../errors.js";
import type { PooledVectors } from "../../features/pooled.js";
import { faultObservation, type Observation, observation } from "../observation.js";
import { type Client, createClient } from "./client.js";
import { takeFile } from "./hidden-state-file.js";
import { createHiddenStateReader, type HiddenStates, largestFile } from "./hidden-states.js";
import type { VllmEncoderParts } from "./parts.js";
import { createWorkSlices } from "./work-slices.js";

/** Of the models that a server offers, so many are named. */
const maxNames = 8;
const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the host's name cannot be resolved",
  ECONNRESET: "the connection was cut off",
  EHOSTUNREACH: "the host cannot be reached",
};

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
  const client = createClient({ ...parts, baseUrls: [url], maxInFlight: 1 });
  try {
    const server = await examineModels(client, parts, host).catch((error) => faultOf("server", host, error));
    if (server.status !== "ok") return { host, observations: [server], pooled: null };
    if (ids === null) {
      const found = `${host}: without folder or tokenizer none can be read`;
      return {
        host,
        observations: [server, observation("hidden-states", "skipped", { found })],
        pooled: null,
      };
    }
    const { states, pooled } = await examinePrefill(client, parts, ids, host);
    return { host, observations: [server, states], pooled };
  } finally {
    client.close();
  }
}

async function examineModels(
  client: Client,
  { servedModel }: VllmEncoderParts,
  host: string,
): Promise<Observation> {
  const models = await client.models(new AbortController().signal);
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

/** One prefill, its file and what is in it. */
async function examinePrefill(
  client: Client,
  parts: VllmEncoderParts,
  ids: readonly number[],
  host: string,
): Promise<{ states: Observation; pooled: PooledVectors | null }> {
  const { signal } = new AbortController();
  const captured = parts.capturedLayers.map((layer) => layer + parts.layerOffset);
  const expected = { ids, captured, hiddenSize: null };
  const leftBehind: string[] = [];
  const rules = {
    root: parts.hiddenStatesRoot,
    timeoutMs: parts.fileTimeoutMs,
    maxBytes: largestFile(expected),
    onLeftBehind: (code: string) => void leftBehind.push(code),
  };
  const started = performance.now();
  let named = "";
  try {
    const path = await client.prefill(ids, signal);
    named = ` (it named ${path})`;
    const wanted = { layers: captured, pooling: ["mean"] } as const;
    const reader = createHiddenStateReader(createWorkSlices());
    const states = await takeFile(path, rules, signal, (file) => reader.read(file, expected, wanted, signal));
    const found = statesObservation(host, states, performance.now() - started, leftBehind[0]);
    return { states: found, pooled: states.pooled };
  } catch (error) {
    return { states: faultOf("hidden-states", host, error, named), pooled: null };
  }
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
    const advice =
      "run both as the same user, or give the folder a group that has both; files that stay fill the folder";
    return observation("hidden-states", "wrong", { found, advice, values });
  }
  const what = `${pooled.size} layer${pooled.size === 1 ? "" : "s"} of ${hiddenSize} values, ${dtype}`;
  return observation("hidden-states", "ok", {
    found: `${host}: ${what}, ${milliseconds.toFixed(0)} ms`,
    values,
  });
}

/**
 * An error of one server; where no connection came about, with the cause.
 * @param more stands behind what was found; may hold anything
 */
function faultOf(check: string, host: string, error: unknown, more = ""): Observation {
  const fault = asJudgeError(error);
  const wrong = (found: string, advice: string | null) =>
    observation(check, "wrong", { found: `${host}: ${found}`, advice, values: { host } });
  const { code } = (fault.cause ?? {}) as NodeJS.ErrnoException;
  if (fault.code !== "encoder_down" || code === undefined) {
    const { found, advice } = faultObservation(check, fault);
    // the host stands before it
    const short = found.replace("the vLLM server's ", "its ").replace("the vLLM server ", "");
    return wrong(`${short}${more}`, advice);
  }
  const known = causes[code];
  return known === undefined
    ? wrong(`no connection (${code})`, "set base_url to what an HTTP client reaches from here")
    : wrong(`${known} (${code})`, "start the server, or set base_url to where it listens");
}
