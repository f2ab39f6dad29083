// Runs the contract of contract.ts for one client against two real servers: one open, one with keys.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../judge-server.js";
import { readCompletion } from "../verdict.js";
import { prompt, rightKey } from "./answered-requests.js";
import { type Client, callOf, cases, type Wanted } from "./contract.js";

/** p_solve of the contract's prompt. It is the same in the file of every client. */
const pinnedPSolve = 0.56678;
const flags = { "--deadline-ms": "60000" };

export function testClient(client: Client): void {
  describe(client.name, () => {
    const folder = mkdtempSync(join(tmpdir(), "judge-keys-"));
    let open: JudgeServer;
    let keyed: JudgeServer;
    let wanted: Wanted;

    before(async () => {
      const keysFile = join(folder, "keys");
      writeFileSync(keysFile, `sk-other\n${rightKey}\n`);
      open = await startJudgeServer(tinyConfig, flags);
      keyed = await startJudgeServer(`[server]\napi_keys_file = "${keysFile}"\n${tinyConfig}`, flags);
      const { completion, verdict } = await readCompletion(
        await open.post("/v1/chat/completions", chat(prompt)),
      );
      wanted = {
        pSolve: verdict.p_solve,
        tokens: completion.usage.prompt_tokens!,
        errors: client.errors,
      };
    });
    after(async () => {
      await client.close?.();
      await open?.close();
      await keyed?.close();
      rmSync(folder, { recursive: true });
    });

    test("the prompt of the contract has the p_solve that every client sees", () => {
      assert.ok(Math.abs(wanted.pSolve - pinnedPSolve) < 1e-4, String(wanted.pSolve));
    });

    for (const [name, subject] of cases) {
      const reason = client.notApplicable[name];
      test(name, { skip: reason === undefined ? false : `not applicable: ${reason}` }, async () => {
        subject.check(await client.call(callOf(subject, { open: open.url, keyed: keyed.url })), wanted);
      });
    }
  });
}
