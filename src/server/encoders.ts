// Makes encoders out of their configuration: the only file that names concrete adapters.
import { join } from "node:path";
import type { Config } from "../config/config.js";
import type { EncoderConfig, VllmEncoderConfig } from "../config/schema.js";
import type { Encoder } from "../encoder/encoder.js";
import { listDecidingFiles } from "../encoder/folder.js";
import type { Observation } from "../encoder/observation.js";
import { createOnnxEncoder } from "../encoder/onnx/onnx-encoder.js";
import type { Down } from "../encoder/onnx/supervisor-parts.js";
import { examineVllm } from "../encoder/vllm/examine.js";
import type { VllmEncoderParts, VllmEvents } from "../encoder/vllm/parts.js";
import { createVllmEncoder } from "../encoder/vllm/vllm-encoder.js";
import { withoutPaths } from "../errors.js";
import type { Observers } from "./observers.js";

/** How encoders run. */
export type EncoderRuntime = Pick<Config["runtime"], "threads" | "processes" | "batches">;

export function encoderRuntime({ threads, processes, batches }: Config["runtime"]): EncoderRuntime {
  return { threads, processes, batches };
}

/** An encoder, and what it was made from. */
export interface BuiltEncoder {
  readonly encoder: Encoder;
  readonly config: EncoderConfig;
  readonly runtime: EncoderRuntime;
}

/** What an encoder tells of itself; `process` is the number of one of its several processes. */
interface EncoderEvents extends Omit<VllmEvents, "up" | "down"> {
  up(
    facts: { readonly device: string },
    how: { restarts: number; loadMs: number; process?: number | null },
  ): void;
  down(how: Omit<Down, "wasLoading"> & { process?: number | null }): void;
  run?(texts: number): void;
}

const silent: EncoderEvents = {
  up() {},
  down() {},
  warning() {},
  swept() {},
  stillDown() {},
  server() {},
  folderBytes() {},
};

/** An encoder, not started; without `events`, as for a command, nobody is told of what happens to it. */
export function composeEncoder(
  config: EncoderConfig,
  { threads, processes, batches }: EncoderRuntime,
  events: EncoderEvents = silent,
): Encoder {
  const { id, path: folder, model: modelName } = config;
  if (config.type === "onnx") {
    return createOnnxEncoder({ id, modelName, folder, threads, processes, limits: batches, events });
  }
  return createVllmEncoder(vllmParts(config, batches, events));
}

function vllmParts(
  config: VllmEncoderConfig,
  { queueLimit }: EncoderRuntime["batches"],
  events: VllmEvents,
): VllmEncoderParts {
  const { path: folder, model: modelName, requestTimeoutMs: timeoutMs, ...settings } = config;
  const { hiddenStatesMaxBytes: maxFolderBytes } = config;
  return { ...settings, modelName, folder, timeoutMs, maxFolderBytes, queueLimit, events };
}

/** What stands behind an encoder, looked at before it is started; nothing for one of this machine. */
export async function examineEncoder(
  config: EncoderConfig,
  { batches }: EncoderRuntime,
): Promise<readonly Observation[]> {
  return config.type === "onnx" ? [] : await examineVllm(vllmParts(config, batches, silent));
}

/** The files of an encoder that decide its results, for whoever watches them. */
export async function encoderFiles({ path }: EncoderConfig): Promise<string[]> {
  return (await listDecidingFiles(path)).map((name) => join(path, name));
}

/** An encoder, not started, of which log and metrics are told. */
export function observedEncoder(
  config: EncoderConfig,
  runtime: EncoderRuntime,
  { log, metrics }: Observers,
): Encoder {
  const { id } = config;
  // then the encoder's own lines say it
  const isAlone = config.type === "onnx" || config.baseUrls.length === 1;
  const encoder = composeEncoder(config, runtime, {
    up({ device }, { process = null, restarts, loadMs }) {
      metrics.encoderUp(id, true);
      log.encoderUp({ encoder: id, process, device, threads: runtime.threads, loadMs, restarts });
    },
    down({ process = null, code, signal, retryMs, reason }) {
      // another of its processes may be up
      metrics.encoderUp(id, encoder.up);
      metrics.encoderRestarted(id);
      log.encoderDown({
        encoder: id,
        process,
        exitCode: code,
        signal,
        reason: reason && withoutPaths(reason),
        retryMs,
      });
    },
    run(texts) {
      metrics.encoderRun(id, texts);
    },
    warning(finding) {
      log.encoderWarning({ encoder: id, finding });
    },
    swept(removed) {
      log.swept({ encoder: id, ...removed });
    },
    stillDown({ retryMs, reason }) {
      log.encoderStillDown({ encoder: id, reason: withoutPaths(reason), retryMs });
    },
    server({ host, isServing, reason }) {
      metrics.serverUp(id, host, isServing);
      if (isAlone) return;
      if (isServing) log.serverUp({ encoder: id, server: host });
      else log.serverDown({ encoder: id, server: host, reason: withoutPaths(reason ?? "") });
    },
    folderBytes(bytes) {
      metrics.hiddenStateBytes(id, bytes);
    },
  });
  return encoder;
}
