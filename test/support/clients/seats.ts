// Two servers for the clients of other APIs, one open and one with keys, and what their answers are compared
// with.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../judge-server.js";
import { readCompletion } from "../verdict.js";
import { prompt, rightKey } from "./answered-requests.js";

export interface Seats {
  readonly open: JudgeServer;
  /** accepts only `rightKey` */
  readonly keyed: JudgeServer;
  /** of `prompt`, as a chat completion gives it */
  readonly pSolve: number;
  readonly tokens: number;
  close(): Promise<void>;
}

export async function startSeats(): Promise<Seats> {
  const folder = mkdtempSync(join(tmpdir(), "judge-keys-"));
  const keysFile = join(folder, "keys");
  writeFileSync(keysFile, `sk-other\n${rightKey}\n`);
  const flags = { "--deadline-ms": "60000" };
  const open = await startJudgeServer(tinyConfig, flags);
  const keyed = await startJudgeServer(`[server]\napi_keys_file = "${keysFile}"\n${tinyConfig}`, flags);
  const { completion, verdict } = await readCompletion(await open.post("/v1/chat/completions", chat(prompt)));
  return {
    open,
    keyed,
    pSolve: verdict.p_solve,
    tokens: completion.usage.prompt_tokens!,
    async close() {
      await open.close();
      await keyed.close();
      rmSync(folder, { recursive: true });
    },
  };
}
