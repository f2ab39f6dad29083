// What a vLLM server can do wrong: every fault ends in a JudgeError of its own in time, no file or socket stays, and the
// next request is served.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ErrorCode } from "../../src/errors.js";
import { encodeOne, faultOf, openFileCount, until, withVllm } from "../support/vllm-encoder.js";
import type { Fault } from "../support/vllm-files.js";

const timeoutMs = 150;
const faults: readonly (readonly [fault: Fault, code: ErrorCode, message: RegExp])[] = [
  ["partial", "encoder_error", /is not whole after 150 ms/],
  ["never", "encoder_error", /is not there after 150 ms; check that hidden_states_root/],
  ["zeroed", "encoder_error", /with zeros for a token/],
  ["zero rows", "encoder_error", /with zeros for a token/],
  ["not finite", "encoder_error", /not finite/],
  ["other ids", "encoder_error", /other token ids than were sent/],
  ["missing rows", "encoder_error", /of \d+ tokens, wanted \d+/],
  ["missing layer", "encoder_error", /of 1 layers, captured_layers names 2/],
  ["trailing bytes", "encoder_error", /longer than its header says/],
  ["no safetensors", "encoder_error", /not a safetensors file/],
  ["outside the root", "encoder_error", /outside hidden_states_root/],
  ["outside through a link", "encoder_error", /outside hidden_states_root/],
  ["relative path", "encoder_error", /outside hidden_states_root/],
  ["another suffix", "encoder_error", /does not end with \.safetensors/],
  ["no path", "encoder_error", /names no hidden_states_path/],
  ["symbolic link", "encoder_error", /is a symbolic link/],
  ["pipe", "encoder_error", /is not a regular file/],
  ["folder", "encoder_error", /is not a regular file/],
  ["sparse", "encoder_error", /has 1099511627776 bytes, wanted at most/],
  ["sparse header", "encoder_error", /has 1099511627776 bytes, wanted at most/],
  ["400", "encoder_error", /refused the request \(400\)/],
  ["401", "encoder_error", /refused the API key \(401\)/],
  ["404", "encoder_error", /does not know the model \(404\)/],
  ["429", "overloaded", /ask again later/],
  ["500", "encoder_down", /answered 500/],
  ["no JSON", "encoder_error", /names no hidden_states_path/],
  ["endless reply", "encoder_error", /over 1 MiB/],
  ["cut off", "encoder_down", /no vLLM server answers/],
  ["hung", "encoder_down", /no reply within 150 ms/],
  ["half a reply", "encoder_down", /no reply within 150 ms/],
];
/** faults that leave something which only the server, or the sweep, can remove */
const leftBehind: Partial<Record<Fault, readonly RegExp[]>> = {
  "outside through a link": [/^link$/],
  "another suffix": [/\.txt$/, /\.txt\.lock$/],
  "relative path": [/\.safetensors$/, /\.safetensors\.lock$/],
  "no path": [/\.safetensors$/, /\.safetensors\.lock$/],
  folder: [/\.safetensors$/],
};

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
        await until(() => matches(readdirSync(folders.root), leftBehind[fault] ?? []), "the folder is empty");
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

  for (const fault of ["late", "slow"] as const) {
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

function matches(names: readonly string[], wanted: readonly RegExp[]): boolean {
  return names.length === wanted.length && names.toSorted().every((name, index) => wanted[index]!.test(name));
}
