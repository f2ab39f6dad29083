// A marker in every place a user can type, a fault at every stage: neither marker, key, path nor stack comes
// out in a log line, a metric, a header or an answer.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, type Mock, mock, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Judge } from "../../src/judge/judge-parts.js";
import type { Registry } from "../../src/judge/registry.js";
import { faultWords, faultyConfig, writeFaultyEncoder } from "../support/http/privacy-encoder.js";
import { key, leaksIn, marker, observedLeaks, probe } from "../support/http/privacy-leaks.js";
import { json, requests, text } from "../support/http/privacy-requests.js";
import { chatPath, postHead, rawClient } from "../support/http/raw-socket.js";
import { type JudgeServer, startJudgeServer } from "../support/judge-server.js";

const folder = mkdtempSync(join(tmpdir(), "judge-privacy-"));
const encoder = writeFaultyEncoder();
writeFileSync(join(folder, "keys"), key);
after(() => {
  for (const path of [folder, encoder]) rmSync(path, { recursive: true });
});
const table = (onFailure: string) =>
  `[server]\napi_keys_file = "${folder}/keys"\n[runtime]\ncache_bytes = 0\non_failure = "${onFailure}"\n${faultyConfig(encoder)}`;

/** What the log tells of a fault of each stage. */
const faultReasons: Record<keyof typeof faultWords, RegExp> = {
  template: /^the text cannot be tokenised: Error$/,
  session: /^the encoder failed on this text in an operator Gather: Error$/,
  hiddenState: /^the encoder gave a hidden state that is not finite$/,
};

/** A fault within the server itself, whose own message holds everything it must not tell. */
function broken(): never {
  const fault = new TypeError(`${text} at ${folder} with ${key}`);
  fault.cause = new Error(text);
  throw fault;
}

for (const onFailure of ["abstain", "error"] as const) {
  describe(`nothing is told, on_failure = "${onFailure}"`, () => {
    const methods = ["log", "info", "warn", "error"] as const;
    let printed: Mock<typeof console.log>[];
    let server: JudgeServer;
    let registry: { -readonly [K in keyof Registry]: Registry[K] };
    before(async () => {
      printed = methods.map((method) => mock.method(console, method, () => {}));
      server = await startJudgeServer(table(onFailure), { "--log-level": "debug", "--deadline-ms": "20000" });
      registry = server.judges.registry as Registry;
    });
    after(async () => {
      mock.restoreAll();
      await server.close();
    });
    afterEach(async () => {
      await sleep(20);
      assert.deepEqual(await observedLeaks(server), []);
      assert.deepEqual(
        printed.map((method) => method.mock.callCount()),
        [0, 0, 0, 0],
      );
    });

    const faults = (): { code: string; reason: string }[] =>
      server.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "fault");

    for (const [name, [status, request]] of Object.entries(requests)) {
      test(`of ${name}`, async () => {
        assert.deepEqual(await probe(server, request), { status, leaks: [] });
      });
    }

    for (const [stage, word] of Object.entries(faultWords)) {
      test(`when the encoder fails on a text: ${stage}`, async () => {
        const failed = onFailure === "error" ? 503 : 200;
        assert.deepEqual(await probe(server, { body: json(`${text} ${word}`) }), {
          status: failed,
          leaks: [],
        });
        const reason = faultReasons[stage as keyof typeof faultWords];
        assert.ok(faults().some((fault) => fault.code === "encoder_error" && reason.test(fault.reason)));
      });
    }

    test("when the head fails", async () => {
      const { head } = registry.first.judge.checkpoint as { head: Judge["checkpoint"]["head"] };
      const own = Object.getOwnPropertyDescriptor(head, "members")!;
      Object.defineProperty(head, "members", { configurable: true, get: broken });
      const status = onFailure === "error" ? 500 : 200;
      try {
        assert.deepEqual(await probe(server, { body: json(text) }), { status, leaks: [] });
      } finally {
        Object.defineProperty(head, "members", own);
      }
      assert.ok(server.logLines.some((line) => line.includes('"fault":"TypeError"')));
    });

    for (const part of ["find", "lookUp"] as const) {
      test(`when the server has a bug in a route: ${part}`, async () => {
        const own = registry[part];
        Object.assign(registry, { [part]: broken });
        const request =
          part === "find" ? { body: json(text) } : { path: `/v1/models/${marker}`, method: "GET" };
        try {
          assert.deepEqual(await probe(server, request), { status: 500, leaks: [] });
        } finally {
          Object.assign(registry, { [part]: own });
        }
        assert.ok(server.logLines.some((line) => line.includes('"code":"internal"')));
      });
    }

    test("when the client leaves half-way, in its body or before its answer", async () => {
      for (const body of [json(text).slice(0, 40), json(text)]) {
        const client = rawClient(server.url);
        const lines = [`Authorization: Bearer ${key}`, `X-Request-Id: ${marker} 1`];
        await client.write(`${postHead(chatPath, json(text).length, lines)}${body}`);
        client.close();
      }
      await sleep(100);
      assert.ok(server.logLines.some((line) => line.includes('"code":"client_gone"')));
    });

    test("of what is not HTTP", async () => {
      for (const bytes of [
        `${marker} ${key}\r\n\r\n`,
        `GET /${marker} HTTP/1.1\r\nHost: ${marker} ${marker}\r\n\r\n`,
        `GET /\\${marker} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        `GET /${marker} HTTP/1.1\r\nHost: localhost\r\nX-${marker}: \0\r\n\r\n`,
        `POST ${chatPath} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: ${marker}\r\n\r\n${text}`,
        `${postHead(chatPath, 2, [`Expect: ${marker}`])}{}`,
      ]) {
        const client = rawClient(server.url);
        await client.write(bytes);
        const answer = await client.answer();
        assert.ok(answer !== null && answer.status >= 400 && answer.status < 500, bytes);
        assert.deepEqual(leaksIn(`${answer.body}\n${JSON.stringify(answer.headers)}`), []);
        client.close();
      }
    });

    test("when the encoder is killed under the request", async () => {
      const pid = server.encoderPid()!;
      const answers = Array.from({ length: 8 }, () => probe(server, { body: json(`${text} `.repeat(500)) }));
      process.kill(pid, "SIGKILL");
      for (const { status, leaks } of await Promise.all(answers)) {
        assert.ok(status === 200 || (onFailure === "error" && status === 503), `${status}`);
        assert.deepEqual(leaks, []);
      }
      while (!registry.ready) await sleep(20);
      assert.ok(server.logLines.some((line) => line.includes('"msg":"encoder down"')));
    });
  });
}

test("nothing is told when the deadline passes", async () => {
  const server = await startJudgeServer(table("error"), { "--deadline-ms": "1" });
  try {
    const body = JSON.stringify({
      prompts: Array.from({ length: 8 }, (_, n) => `${n} ${text} `.repeat(300)),
    });
    for (let turn = 0; turn < 3; turn++) {
      const { status, leaks } = await probe(server, { path: "/v1/score", body });
      // once the encoder is known, what cannot be done in time is refused without a wait
      assert.ok(status === 504 || (turn > 0 && status === 429), `${status}`);
      assert.deepEqual(leaks, []);
    }
    assert.deepEqual(await observedLeaks(server), []);
  } finally {
    await server.close();
  }
});
