// A request's body on its way to a checked value.
import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import * as z from "zod";
import { readBody } from "../../../../src/http/body/body.js";
import { rejection } from "../../../support/refusal.js";

/** A request whose body arrives in these pieces. */
function incoming(...pieces: (string | Buffer)[]): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  for (const piece of pieces) message.push(Buffer.from(piece));
  message.push(null);
  return message;
}
/** One that is there, whole, before it is read. */
const arrived = (...pieces: (string | Buffer)[]) => Object.assign(incoming(...pieces), { complete: true });
const limit = 1_000_000;
const read = (message: IncomingMessage) =>
  readBody(message, z.unknown(), { maxBodyBytes: limit, requestTimeoutMs: 10_000 });

test("a body may arrive in pieces that split a character", async () => {
  const bytes = Buffer.from('{"a":"🙂"}');
  assert.deepEqual(await read(incoming(bytes.subarray(0, 8), bytes.subarray(8))), { a: "🙂" });
});

test("a body that is there already is read to its end", async () => {
  const bytes = Buffer.from('{"a":"🙂"}');
  const split = arrived(bytes.subarray(0, 8), bytes.subarray(8));
  assert.deepEqual(await read(split), { a: "🙂" });
  await turn();
  assert.ok(split.readableEnded, "else the socket could not take the next request");
  const { message } = await rejection("invalid_json", read(arrived()));
  assert.equal(message, "the body is not JSON: it is empty");
});

test("a byte order mark is passed over", async () => {
  assert.deepEqual(await read(incoming("\uFEFF[1]")), [1]);
});

describe("what is not JSON is refused with line and column", () => {
  const cases: Readonly<Record<string, readonly [body: string, place: string]>> = {
    "a comma too much": ['{"a":1,}', "line 1, column 8"],
    "a missing colon": ['{"a" 1}', "line 1, column 6"],
    "a key without quotes": ['{\n  "a": 1,\n  b: 2\n}', "line 3, column 3"],
    "single quotes": ["['a']", "line 1, column 2"],
    "a comment": ["[\n// why\n1]", "line 2, column 1"],
    "a second value": ["{}\n{}", "line 2, column 1"],
    "a body that stops": ['{"a": [1, 2', "line 1, column 12"],
    "a number with a leading zero": ["[01]", "line 1, column 3"],
    NaN: ["[NaN]", "line 1, column 2"],
    "CRLF line ends": ['{\r\n"a":,\r\n}', "line 2, column 5"],
  };
  for (const [name, [body, place]] of Object.entries(cases)) {
    test(name, async () => {
      const { message, param } = await rejection("invalid_json", read(incoming(body)));
      assert.equal(message, `the body is not JSON: ${place}`);
      assert.equal(param, null);
    });
  }
});

test("an empty body is called empty", async () => {
  for (const body of ["", "  \n", "\uFEFF"]) {
    const { message } = await rejection("invalid_json", read(incoming(body)));
    assert.equal(message, "the body is not JSON: it is empty");
  }
});

test("every broken body gets a place, and no character of it is repeated", async () => {
  const broken = fc
    .tuple(fc.json({ maxDepth: 2 }), fc.nat(), fc.constantFrom("", "§", "}", "]", ",", '"', "0", "e"))
    .map(([json, at, replacement]) => {
      const cut = at % (json.length + 1);
      return `${json.slice(0, cut)}${replacement}${json.slice(cut + 1)}`;
    })
    .filter((text) => {
      try {
        JSON.parse(text);
        return false;
      } catch {
        return true;
      }
    });
  await fc.assert(
    fc.asyncProperty(broken, async (body) => {
      const { message } = await rejection("invalid_json", read(incoming(body)));
      assert.match(message, /^the body is not JSON: (it is empty|line \d+, column \d+)$/);
    }),
    { numRuns: 200 },
  );
});

test("a body nested a hundred thousand deep is answered, not a crash", async () => {
  const deep = "[".repeat(100_000);
  await rejection("invalid_json", read(incoming(deep)));
  assert.ok(Array.isArray(await read(incoming(deep + "]".repeat(100_000)))));
});

test("what is not UTF-8 is refused", async () => {
  const latin1 = Buffer.from('{"a":"\u00e9"}', "latin1");
  const { message } = await rejection("invalid_json", read(incoming(latin1)));
  assert.equal(message, "the body is not UTF-8; send JSON as UTF-8");
});

test("a body of the largest size is read, one byte more is refused after the upload has been drained", async () => {
  const body = Buffer.alloc(limit + 1, " ");
  body.write("[]");
  for (const upload of [incoming, arrived]) {
    assert.deepEqual(await read(upload(body.subarray(0, limit))), []);
    const tooLarge = upload(body.subarray(0, limit), body.subarray(limit), "more");
    const { message } = await rejection("body_too_large", read(tooLarge));
    assert.equal(message, `the body has ${limit + 5} bytes, wanted at most ${limit}`);
    assert.ok(tooLarge.readableEnded);
  }
});

test("an upload that breaks off is the client's leaving", async () => {
  for (const error of [new Error("aborted"), undefined]) {
    const upload = new IncomingMessage(new Socket());
    upload.push("[1,");
    const reading = read(upload);
    setImmediate(() => upload.destroy(error));
    await rejection("client_gone", reading);
  }
  const left = arrived("[1]");
  left.destroy();
  await rejection("client_gone", read(left));
});

test("a compressed body and another charset are refused, UTF-8 by any spelling is read", async () => {
  const sent = (headers: IncomingMessage["headers"]) => Object.assign(incoming("[1]"), { headers });
  for (const headers of [
    { "content-encoding": "gzip" },
    { "content-type": "application/json; charset=latin1" },
    { "content-type": 'text/plain; charset="utf-16"' },
  ]) {
    await rejection("unsupported_media_type", read(sent(headers)));
  }
  for (const headers of [
    {},
    { "content-encoding": "identity", "content-type": "application/json; charset=UTF-8" },
    { "content-type": 'application/json;charset="utf8"' },
    { "content-type": "text/plain" },
  ]) {
    assert.deepEqual(await read(sent(headers)), [1]);
  }
});

test("a place in the body is written as JavaScript would reach it", async () => {
  const schema = z.object({ rows: z.array(z.object({ name: z.string() })) });
  const { message, param } = await rejection(
    "invalid_request",
    readBody(incoming('{"rows":[{"name":"a"},{"name":1}]}'), schema, {
      maxBodyBytes: limit,
      requestTimeoutMs: 10_000,
    }),
  );
  assert.equal(param, "rows[1].name");
  assert.match(message, /^rows\[1\]\.name: /);
});
