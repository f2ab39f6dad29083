// A reload that fails tells its reason, but no path and no key.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fixturePath } from "../support/fixtures.js";
import { key, leaksIn } from "../support/http/privacy-leaks.js";
import { startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "judge-reload-"));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "admin"), key);
const config = `[server]\nadmin_key_file = "${folder}/admin"\n${tinyConfig}`;

for (const [name, broken] of [
  [
    "a checkpoint that is missing",
    config.replace(fixturePath("checkpoints/router-json-v1"), `${folder}/none`),
  ],
  ["an encoder that is missing", config.replace(fixturePath("tiny-encoder"), `${folder}/none`)],
  ["a file that is not TOML", `${config}\n[[`],
] as const) {
  test(`a reload tells no path and no key: ${name}`, async () => {
    const server = await startJudgeServer(config);
    try {
      await assert.rejects(server.reload(broken));
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${server.url}/admin/reload`, { method: "POST", headers });
      assert.equal(response.status, 409);
      const { code, message } = await readError(response);
      assert.equal(code, "reload_failed");
      assert.deepEqual(leaksIn(`${message}\n${server.logLines.join("")}`), []);
    } finally {
      await server.close();
    }
  });
}
