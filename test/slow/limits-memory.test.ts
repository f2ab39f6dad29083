// Large bodies. One of the largest size in a server with little memory, as in a small container, may be
// refused and may not end the server; many together wait for each other.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ErrorAnswer } from "../../src/http/errors.js";
import { chatPath } from "../support/http/raw-socket.js";
import { tinyConfig } from "../support/judge-server.js";
import { startServe } from "../support/server-process.js";

const size = 48 * 2 ** 20 - 100;
const user = '{"role":"user","content":"Hi"}';

const env = { NODE_OPTIONS: "--max-old-space-size=512" };

describe("with 512 MiB of heap", () => {
  for (const [name, body] of [
    ["millions of messages", `{"messages":[${"{},".repeat(size / 3 - 10)}{}]}`],
    [
      "millions of levels",
      `{"messages":[${user}],"x":${"[".repeat(size / 2 - 50)}${"]".repeat(size / 2 - 50)}}`,
    ],
    ["a text of 48 MiB", `{"messages":[{"role":"user","content":"${"a".repeat(size - 100)}"}]}`],
  ] as const) {
    test(`a body of ${name} gets an answer, and so does the next request`, async () => {
      const server = await startServe(tinyConfig, { env });
      try {
        const response = await fetch(`${server.url}${chatPath}`, { method: "POST", body }).catch(() => null);
        assert.ok(response !== null, "the server ended");
        const answer: unknown = await response.json();
        if (response.status !== 200) {
          assert.equal(response.status, 400);
          ErrorAnswer.parse(answer);
        }
        assert.equal((await fetch(`${server.url}/health`)).status, 200);
      } finally {
        await server.kill();
      }
    });
  }
});

describe("a hundred uploads of 31 MB", () => {
  for (const [name, headers] of [
    ["of a size they tell", { "content-length": "31000000" }],
    ["in chunks", { "transfer-encoding": "chunked" }],
  ] as const) {
    test(`${name} take a bounded part of memory, and give it back`, async () => {
      // however long the machine takes for three gigabytes
      const server = await startServe(`[server]\nrequest_timeout_ms = 300000\n${tinyConfig}`);
      const megabytes = (field: string) => {
        const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
        return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)![1]) / 1024;
      };
      try {
        const before = megabytes("VmRSS");
        const body = Buffer.from('{"messages":[{"role":"user","content":"Hi"}]}'.padEnd(31e6));
        const upload = () =>
          new Promise<number | undefined>((resolve, reject) => {
            const options = { method: "POST", headers: { ...headers, connection: "close" } };
            const sent = request(`${server.url}${chatPath}`, options, (answer) => {
              answer.resume().once("end", () => resolve(answer.statusCode));
            });
            sent.once("error", reject).end(body);
          });
        const statuses = await Promise.all(Array.from({ length: 100 }, upload));
        assert.ok(statuses.every((status) => status === 200));
        assert.ok(megabytes("VmHWM") < 1200, `${megabytes("VmHWM")} MB at most`);
        for (let left = 60; megabytes("VmRSS") > before + 150 && left > 0; left--) await sleep(500);
        assert.ok(megabytes("VmRSS") <= before + 150, `${before} MB before, ${megabytes("VmRSS")} MB after`);
      } finally {
        await server.kill();
      }
    });
  }
});
