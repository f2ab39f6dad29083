// POST /admin/reload: off without a key of its own, and what it answers and does with one.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { loadCheckpoint } from "../../src/checkpoint/load.js";
import { writeRouterJson2 } from "../../src/checkpoint/router-json-write.js";
import { saveFiles } from "../../src/checkpoint/save.js";
import { fixturePath } from "../support/fixtures.js";
import { chat, type JudgeServer, startJudgeServer, tinyConfig } from "../support/judge-server.js";
import { readError } from "../support/verdict.js";

const folder = mkdtempSync(join(tmpdir(), "judge-admin-"));
after(() => rmSync(folder, { recursive: true }));
const [adminKey, clientKey] = ["admin-key-0123456789", "client-key-0123456789"];
writeFileSync(join(folder, "admin-keys"), adminKey);
writeFileSync(join(folder, "client-keys"), clientKey);
const checkpoint = join(folder, "checkpoint");
const place = (name: string) => {
  rmSync(checkpoint, { recursive: true, force: true });
  cpSync(fixturePath(`checkpoints/${name}`), checkpoint, { recursive: true });
};
place("router-json-v1");

const judge = tinyConfig.replace(fixturePath("checkpoints/router-json-v1"), checkpoint);
const closed = `[server]
api_keys_file = "${folder}/client-keys"
admin_key_file = "${folder}/admin-keys"
${judge}`;
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const post = (server: JudgeServer, key?: string) =>
  fetch(`${server.url}/admin/reload`, {
    method: "POST",
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });

test("without an admin key the path is off, whatever key is sent", async () => {
  const toml = `[server]\napi_keys_file = "${folder}/client-keys"\n${judge}`;
  const server = await startJudgeServer(toml, {}, false);
  try {
    for (const key of [undefined, clientKey, adminKey]) {
      const response = await post(server, key);
      assert.equal(response.status, 404);
      assert.equal((await readError(response)).code, "not_found");
    }
  } finally {
    await server.close();
  }
});

test("a reload to another encoder while the first one is loading does not end the start", async () => {
  const server = await startJudgeServer(judge, {}, false);
  try {
    const started = server.judges.start();
    const other = judge.replace("[encoders.tiny]", "[encoders.other]").replace('"tiny"', '"other"');
    await Promise.all([server.reload(other).catch(() => {}), started]);
    assert.equal((await fetch(`${server.url}/ready`)).status, 200);
  } finally {
    await server.close();
  }
});

describe("with an admin key", () => {
  let server: JudgeServer;
  before(async () => {
    server = await startJudgeServer(closed);
  });
  after(() => server.close());
  const hashNow = async () => {
    const response = await server.post("/v1/chat/completions", chat("Hi"), {
      authorization: `Bearer ${clientKey}`,
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("x-prefill-judge-abstained"), null);
    return response.headers.get("x-prefill-judge-checkpoint");
  };

  test("no key, a wrong one, a client's or one in another place is 401, and nothing is reloaded", async () => {
    for (const key of [undefined, "", "wrong", clientKey, `${adminKey}x`, adminKey.slice(1)]) {
      const response = await post(server, key);
      assert.equal(response.status, 401, key);
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      assert.equal((await readError(response)).code, "invalid_api_key");
    }
    const elsewhere = await fetch(`${server.url}/admin/reload?key=${adminKey}`, {
      method: "POST",
      headers: { "x-api-key": adminKey },
    });
    assert.equal(elsewhere.status, 401);
    assert.ok(!server.logLines.some((line) => line.includes("reload")));
  });

  test("the admin key is no client's key", async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    assert.equal((await server.post("/v1/chat/completions", chat("Hi"), headers)).status, 401);
  });

  test("other methods are 405", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const headers = { authorization: `Bearer ${adminKey}` };
      const response = await fetch(`${server.url}/admin/reload`, { method, headers });
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
    }
  });

  test("the key reloads: 200 with the hash by judge, which is the one that answers from then on", async () => {
    const old = (await loadCheckpoint(checkpoint)).hash;
    assert.equal(await hashNow(), old);
    const same = await post(server, adminKey);
    assert.equal(same.status, 200);
    assert.deepEqual(await same.json(), { reloaded: true, judges: { tiny: old } });
    const content = await loadCheckpoint(checkpoint);
    await saveFiles(checkpoint, { ...writeRouterJson2({ ...content, training: { rows: 7 } }, sha256) });
    const { hash } = await loadCheckpoint(checkpoint);
    assert.notEqual(hash, old);
    assert.equal(await hashNow(), old, "nothing changes unasked");
    assert.deepEqual(await (await post(server, adminKey)).json(), { reloaded: true, judges: { tiny: hash } });
    assert.equal(await hashNow(), hash);
  });

  test("a load that fails is 409 with its reason, and the judges in service stay", async () => {
    const hash = await hashNow();
    truncateSync(join(checkpoint, "router.safetensors"), 5000);
    const response = await post(server, adminKey);
    assert.equal(response.status, 409);
    const { code, type, message } = await readError(response);
    assert.deepEqual([code, type], ["reload_failed", "invalid_request_error"]);
    assert.match(message, /^the judges in service stay: .*router\.safetensors /);
    assert.equal(await hashNow(), hash);
    assert.ok(server.logLines.some((line) => line.includes("reload failed")));
  });

  test("files that come back are loaded by the next call", async () => {
    place("router-json-v1-four-outputs");
    assert.equal((await post(server, adminKey)).status, 409, "it has no output weak");
    place("router-json-v1");
    assert.equal((await post(server, adminKey)).status, 200);
  });

  test("calls at the same time all succeed", async () => {
    const responses = await Promise.all(Array.from({ length: 5 }, () => post(server, adminKey)));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
  });
});
