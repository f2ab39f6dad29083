// The least that anybody does who wants hidden states of a vLLM server: ids over a kept connection, the
// reply, and the whole file as soon as it is there. Nothing is checked, parsed or pooled; the file is removed
// when the time has stopped.
import { readFile, stat, unlink } from "node:fs/promises";
import { Agent, request } from "node:http";
import { setImmediate as turn } from "node:timers/promises";

export interface BareClient {
  /** Milliseconds of one prefill. */
  prefill(ids: readonly number[]): Promise<number>;
  close(): void;
}

interface Reply {
  readonly kv_transfer_params: { readonly hidden_states_path: string; readonly size: number };
}

/** @param baseUrl with `/v1` */
export function createBareClient(baseUrl: string): BareClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  function post(body: string): Promise<string> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${baseUrl}/completions`,
        { agent, method: "POST", headers },
        async (incoming) => {
          const chunks: Buffer[] = [];
          for await (const chunk of incoming) chunks.push(chunk as Buffer);
          resolve(Buffer.concat(chunks).toString("utf8"));
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  return {
    async prefill(prompt) {
      const body = JSON.stringify({
        model: "bench",
        prompt,
        max_tokens: 1,
        kv_transfer_params: { include_output_tokens: false },
      });
      const started = performance.now();
      const { hidden_states_path: path, size } = (JSON.parse(await post(body)) as Reply).kv_transfer_params;
      while ((await sizeOf(path)) !== size) await turn();
      await readFile(path);
      const milliseconds = performance.now() - started;
      await Promise.all([unlink(path), unlink(`${path}.lock`)]);
      return milliseconds;
    },
    close: () => agent.destroy(),
  };
}

async function sizeOf(path: string): Promise<number | null> {
  return await stat(path).then(
    ({ size }) => size,
    () => null,
  );
}
