// What a vLLM server can do wrong: every fault ends in a JudgeError of its own in time, no file or socket
// stays, and the next request is served.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { encodeOne, faultOf, openFileCount, until, withVllm } from "../support/vllm/encoder.js";
import { faults, isLeftBehind, timeoutMs } from "../support/vllm/faults.js";

describe("faults", () => {
  for (const [fault, code, message] of faults) {
    test(`${fault}: ${code}, in time, and nothing leaks`, async () => {
      await withVllm({ timeoutMs, fileTimeoutMs: timeoutMs, retryMs: 20 }, async (subject) => {
        const { encoder, folders } = subject;
        await encodeOne(encoder);
        const openBefore = openFileCount();
        subject.server.fault = fault;
        const started = performance.now();
        const error = await faultOf(encoder);
        assert.ok(performance.now() - started < 2 * timeoutMs + 300, "in time");
        assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
        assert.doesNotMatch(error.message, /\n|hidden-states\/|\/tmp\//);
        await until(() => isLeftBehind(fault, readdirSync(folders.root)), "the folder is empty");
        await until(() => openFileCount() <= openBefore, "its files are closed");
        if (fault === "symbolic link") {
          assert.ok(
            existsSync(join(folders.outside, "target.safetensors")),
            "what a link names is not touched",
          );
        }
        subject.server.fault = "none";
        await until(() => encoder.up, "the encoder is up");
        await encodeOne(encoder);
        await encoder.close();
        await until(() => subject.server.sockets.size === 0, "its sockets are closed");
      });
    });
  }

  for (const fault of ["late", "slow", "replaced"] as const) {
    test(`a file that comes ${fault} is waited for`, async () => {
      await withVllm({}, async ({ encoder, server, folders }) => {
        const wanted = await encodeOne(encoder);
        server.fault = fault;
        assert.deepEqual((await encodeOne(encoder)).pooled, wanted.pooled);
        assert.deepEqual(readdirSync(folders.root), []);
      });
    });
  }
});
