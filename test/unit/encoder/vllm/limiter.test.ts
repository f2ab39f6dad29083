// So many calls at once: who is next, who is refused, and who leaves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createLimiter } from "../../../../src/encoder/vllm/limiter.js";
import { JudgeError } from "../../../../src/errors.js";
import { rejection } from "../../../support/refusal.js";

const never = new AbortController().signal;
const isBulk = () => true;

/** A limiter for one call at a time, what has begun, and the end of the call that runs. */
function bench(queueLimit = 100) {
  const limiter = createLimiter(1, queueLimit);
  const begun: string[] = [];
  let end = () => {};
  const call = (name: string, how = {}, signal = never) =>
    limiter.run(
      () =>
        new Promise<void>((resolve) => {
          begun.push(name);
          end = resolve;
        }),
      signal,
      how,
    );
  const next = async () => {
    end();
    await turn();
  };
  return { call, begun, next };
}

test("calls in bulk go behind the others, but for every tenth place", async () => {
  const { call, begun, next } = bench();
  void call("first");
  await turn();
  for (let index = 0; index < 3; index++) void call("bulk", { isBulk });
  for (let index = 0; index < 12; index++) void call("chat");
  for (let index = 0; index < 15; index++) await next();
  assert.equal(begun.indexOf("bulk"), 10);
  assert.deepEqual(begun.slice(11), ["chat", "chat", "chat", "bulk", "bulk"]);
});

test("too many are refused, but for those that are patient; who leaves makes room", async () => {
  const { call, begun, next } = bench(1);
  void call("first");
  await turn();
  const leaving = new AbortController();
  const left = rejection("client_gone", call("left", {}, leaving.signal));
  await rejection("overloaded", call("refused"));
  void call("patient", { isPatient: true });
  leaving.abort(new JudgeError("client_gone", { found: "left" }));
  await left;
  for (let index = 0; index < 2; index++) await next();
  assert.deepEqual(begun, ["first", "patient"]);
});
