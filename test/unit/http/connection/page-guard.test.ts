// Which requests are a web page's, and which a program's.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JudgeError } from "../../../../src/errors.js";
import {
  createPageGuard,
  isLoopbackAddress,
  type PageGuardOptions,
} from "../../../../src/http/connection/page-guard.js";

const keyless: PageGuardOptions = {
  address: "127.0.0.1",
  host: "127.0.0.1",
  allowedHosts: [],
  corsOrigins: [],
  hasKeys: false,
};

/** The code of the refusal, or "admitted". */
function outcome(
  options: Partial<PageGuardOptions>,
  marks: { authority?: string; origin?: string; fetchSite?: string },
): string {
  try {
    const { authority = "127.0.0.1:8080", origin, fetchSite } = marks;
    createPageGuard({ ...keyless, ...options }).check({ authority, origin, fetchSite });
    return "admitted";
  } catch (error) {
    return (error as JudgeError).code;
  }
}

describe("an address of loopback", () => {
  for (const address of ["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"])
    test(`is ${address}`, () => assert.ok(isLoopbackAddress(address)));
  for (const address of ["128.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "localhost", ""])
    test(`is not ${address}`, () => assert.ok(!isLoopbackAddress(address)));
});

describe("the name a request asks for", () => {
  for (const authority of [
    "127.0.0.1",
    "127.0.0.1:8080",
    "127.8.9.1:80",
    "127.1:8080",
    "localhost",
    "LocalHost:9999",
    "localhost.:8080",
    "judge.localhost:8080",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]:8080",
    "0.0.0.0:8080",
    "[::]:8080",
    "",
  ]) {
    test(`is this machine's own: "${authority}"`, () => assert.equal(outcome({}, { authority }), "admitted"));
  }
  for (const authority of [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evillocalhost",
    "128.0.0.1:8080",
    "10.0.0.5",
    "[2001:db8::1]",
    "localhost@evil.example",
    "evil.example@localhost",
    "evil.example/localhost",
    "localhost, evil.example",
    "evil.example#.localhost",
    "a b",
    "[fe80::1%25eth0]:8080",
  ]) {
    test(`is refused on loopback without keys: "${authority}"`, () => {
      for (const address of ["127.0.0.1", "127.0.1.1", "::1"])
        assert.equal(outcome({ address }, { authority }), "host_not_allowed");
    });
    test(`does not count with keys or on a public address: "${authority}"`, () => {
      assert.equal(outcome({ hasKeys: true }, { authority }), "admitted");
      assert.equal(outcome({ address: "0.0.0.0", host: "0.0.0.0" }, { authority }), "admitted");
    });
  }

  test("may be the configured host, and those of allowed_hosts in any case and with any port", () => {
    assert.equal(outcome({ host: "mybox" }, { authority: "mybox:8080" }), "admitted");
    const options = { allowedHosts: ["judge.internal", "10.0.0.5", "2001:db8::1"] };
    for (const authority of ["judge.internal", "Judge.Internal:443", "10.0.0.5:80", "[2001:DB8::1]:80"])
      assert.equal(outcome(options, { authority }), "admitted", authority);
    assert.equal(outcome(options, { authority: "internal" }), "host_not_allowed");
    assert.equal(outcome(options, { authority: "x.judge.internal" }), "host_not_allowed");
  });

  test("counts on every address once allowed_hosts names one", () => {
    for (const more of [{ address: "0.0.0.0" }, { hasKeys: true }]) {
      const options = { allowedHosts: ["judge.internal"], ...more };
      assert.equal(outcome(options, { authority: "judge.internal" }), "admitted");
      assert.equal(outcome(options, { authority: "localhost" }), "admitted");
      assert.equal(outcome(options, { authority: "evil.example" }), "host_not_allowed");
    }
  });
});

describe("the page a request comes from", () => {
  const origin = "https://console.example";
  for (const [name, marks] of [
    ["none: a program", {}],
    ["the server's own", { origin: "http://127.0.0.1:8080", fetchSite: "same-origin" }],
    ["the server's own, of a browser that says no site", { origin: "http://127.0.0.1:8080" }],
    ["the server's own on the usual port", { origin: "http://localhost", authority: "localhost:80" }],
    ["the address bar", { fetchSite: "none" }],
    ["the server's own, without an origin", { fetchSite: "same-origin" }],
  ] as const) {
    test(`is admitted: ${name}`, () => assert.equal(outcome({}, marks), "admitted"));
  }
  for (const [name, marks] of [
    ["another site", { origin: "https://evil.example", fetchSite: "cross-site" }],
    ["another site, of a browser that says no site", { origin: "https://evil.example" }],
    ["another port of this machine", { origin: "http://localhost:3000", fetchSite: "same-site" }],
    ["another port under the same name", { origin: "http://127.0.0.1:3000" }],
    ["another name of this machine", { origin: "http://localhost:8080" }],
    ["a sandboxed frame", { origin: "null" }],
    ["a file", { origin: "file://" }],
    ["an extension", { origin: "chrome-extension://abcdef" }],
    ["an image on another site", { fetchSite: "cross-site" }],
    ["an origin twice", { origin: "http://127.0.0.1:8080, http://127.0.0.1:8080" }],
    ["the server's own, after a detour", { origin: "http://127.0.0.1:8080", fetchSite: "cross-site" }],
  ] as const) {
    test(`is refused: ${name}`, () => {
      assert.equal(outcome({}, marks), "origin_not_allowed");
      assert.equal(outcome({ address: "0.0.0.0", host: "0.0.0.0" }, marks), "origin_not_allowed");
    });
    test(`does not count with keys, or where every page may: ${name}`, () => {
      assert.equal(outcome({ hasKeys: true }, marks), "admitted");
      assert.equal(outcome({ corsOrigins: ["*"] }, marks), "admitted");
    });
  }

  test("may be one of cors_origins, and no other then", () => {
    const options = { corsOrigins: [origin] };
    assert.equal(outcome(options, { origin, fetchSite: "cross-site" }), "admitted");
    assert.equal(outcome(options, { origin: `${origin}.evil.test` }), "origin_not_allowed");
    assert.equal(outcome(options, { fetchSite: "cross-site" }), "origin_not_allowed");
  });

  test("does not make a name of this machine out of another", () => {
    const origin = "http://evil.example:8080";
    const marks = { authority: "evil.example:8080", origin, fetchSite: "same-origin" };
    assert.equal(outcome({}, marks), "host_not_allowed");
    assert.equal(outcome({ corsOrigins: ["*"] }, marks), "host_not_allowed");
  });
});
