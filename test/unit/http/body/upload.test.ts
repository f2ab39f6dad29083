// The bytes of a body that has to wait for room.
import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { type BodyLimits, readUpload } from "../../../../src/http/body/upload.js";
import { rejection } from "../../../support/refusal.js";

const size = 100_000;
const limits = (room: Promise<void>): BodyLimits => ({
  maxBodyBytes: size,
  requestTimeoutMs: 20,
  budget: { take: () => ({ room, release() {} }) },
});
const never = new Promise<void>(() => {});

function incoming(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

for (const [name, headers] of [
  ["of a size it tells", { "content-length": `${size}` }],
  ["in chunks", {}],
] as const) {
  test(`finds no room in time, and says so: ${name}`, async () => {
    const message = incoming(headers);
    message.push(Buffer.alloc(size - 1));
    const { message: text } = await rejection("request_timeout", readUpload(message, limits(never)));
    assert.equal(text, "the request was not complete in time; too many large ones are being sent");
  });

  test(`is whole once there is room: ${name}`, async () => {
    const message = incoming(headers);
    const bytes = Buffer.from(Array.from({ length: size }, (_, index) => index % 251));
    const read = readUpload(message, limits(Promise.resolve()));
    for (let start = 0; start < size; start += 7001) message.push(bytes.subarray(start, start + 7001));
    message.push(null);
    assert.deepEqual(await read, bytes);
  });

  test(`is the client's leaving where it waits no longer: ${name}`, async () => {
    const message = incoming(headers);
    message.push(Buffer.alloc(size - 1));
    const read = rejection("client_gone", readUpload(message, limits(never)));
    setImmediate(() => message.destroy());
    await read;
  });
}
