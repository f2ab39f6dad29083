// One body of the largest size in a server with little memory, as in a small container: it may be refused, it may not
// end the server.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ErrorAnswer } from "../../src/http/answer-schema.js";
import { startServe } from "../cli/shutdown-process.js";
import { chatPath } from "../http/limits-socket.js";
import { tinyConfig } from "../support/judge-server.js";

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
