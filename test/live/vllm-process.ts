// A real vLLM server on the processor, with the tiny encoder.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fixturePath, packagePath } from "../support/fixtures.js";

export interface LiveOptions {
  /** shared_storage_path */
  readonly root: string;
  /** eagle_aux_hidden_state_layer_ids */
  readonly layers: readonly number[];
  readonly dtype?: "float32" | "bfloat16";
  /** file for what it prints */
  readonly log: string;
  readonly port: number;
}

export interface LiveServer {
  /** with `/v1` */
  readonly url: string;
  /** Sends a signal to all of its processes. */
  signal(name: NodeJS.Signals): void;
  /** Ends it, and waits until its processes are gone. */
  stop(name?: NodeJS.Signals): Promise<void>;
}

const startMs = 300_000;

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

export async function startLive({
  root,
  layers,
  dtype = "float32",
  log,
  port,
}: LiveOptions): Promise<LiveServer> {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const venv = process.env.VLLM_LIVE_VENV ?? packagePath(".vllm-live");
  const captured = { hf_config: { eagle_aux_hidden_state_layer_ids: layers } };
  const speculative = {
    method: "extract_hidden_states",
    num_speculative_tokens: 1,
    draft_model_config: captured,
  };
  const transfer = {
    kv_connector: "ExampleHiddenStatesConnector",
    kv_role: "kv_producer",
    kv_connector_extra_config: { shared_storage_path: root },
  };
  const output = openSync(log, "a");
  const child = spawn(
    join(venv, "bin/vllm"),
    [
      ...["serve", fixturePath("tiny-encoder"), "--served-model-name", "tiny", "--port", String(port)],
      ...["--dtype", dtype, "--enforce-eager", "--max-model-len", "512"],
      ...["--speculative-config", JSON.stringify(speculative)],
      ...["--kv-transfer-config", JSON.stringify(transfer)],
    ],
    {
      env: {
        ...process.env,
        PATH: `${join(venv, "bin")}:${process.env.PATH}`,
        VLLM_CPU_KVCACHE_SPACE: "1",
        VLLM_CPU_OMP_THREADS_BIND: "nobind",
        OMP_NUM_THREADS: "1",
        HF_HUB_OFFLINE: "1",
        VLLM_NO_USAGE_STATS: "1",
        DO_NOT_TRACK: "1",
      },
      // a group of its own: the API's process has others below it
      detached: true,
      stdio: ["ignore", output, output],
    },
  );
  const server: LiveServer = {
    url: `http://127.0.0.1:${port}/v1`,
    signal: (name) => signalGroup(child, name),
    async stop(name = "SIGTERM") {
      signalGroup(child, name);
      const end = performance.now() + 15_000;
      while (isGroupAlive(child) && performance.now() < end) await sleep(50);
      signalGroup(child, "SIGKILL");
      while (isGroupAlive(child)) await sleep(50);
    },
  };
  const end = performance.now() + startMs;
  for (;;) {
    const isUp = await fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return server;
    if (child.exitCode !== null || performance.now() > end) {
      await server.stop("SIGKILL");
      throw new Error(`vLLM did not start; see ${log}`);
    }
    await sleep(250);
  }
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    process.kill(-pid!, name);
  } catch {
    // it is gone
  }
}

function isGroupAlive({ pid }: ChildProcess): boolean {
  try {
    process.kill(-pid!, 0);
    return true;
  } catch {
    return false;
  }
}
