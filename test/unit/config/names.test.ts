// Settings that could never match what clients send: refused, with what to write.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkHosts, checkOrigins } from "../../../src/config/names.js";
import { refusal } from "../../support/refusal.js";

const refusedOrigin = (origin: string) =>
  refusal("config", () => checkOrigins("server.cors_origins", [origin])).message;
const refusedHost = (name: string) =>
  refusal("config", () => checkHosts("server.allowed_hosts", [name])).message;

describe("an origin as browsers send it is taken:", () => {
  for (const origin of [
    "https://console.example",
    "https://console.example:8443",
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    "http://[::1]:3000",
    "https://xn--cl-cja.example",
    "chrome-extension://abcdefghijklmnop",
    "vscode-webview://1d2c3b",
    "tauri://localhost",
    "capacitor://localhost",
    "file://",
    "null",
    "*",
  ]) {
    test(origin, () => assert.deepEqual(checkOrigins("server.cors_origins", [origin]), [origin]));
  }
});

describe("an origin that no browser sends is refused with the one it sends:", () => {
  for (const [found, wanted] of [
    ["https://console.example/", "https://console.example"],
    ["https://console.example/app?x", "https://console.example"],
    ["https://Console.Example", "https://console.example"],
    ["HTTPS://console.example", "https://console.example"],
    ["https://console.example:443", "https://console.example"],
    ["http://console.example:80", "http://console.example"],
    ["console.example", "https://console.example"],
    ["console.example:8443", "https://console.example:8443"],
    ["//console.example", "https://console.example"],
    ["localhost:3000", "http://localhost:3000"],
    ["127.0.0.1:3000", "http://127.0.0.1:3000"],
    [" https://console.example ", "https://console.example"],
    ["https://user@console.example", "https://console.example"],
    ["https://clé.example", "https://xn--cl-cja.example"],
    ["http://127.1", "http://127.0.0.1"],
    ["tauri://localhost/", "tauri://localhost"],
  ] as const) {
    test(found, () => {
      assert.equal(
        refusedOrigin(found),
        `server.cors_origins: "${found}" can never match what clients send; write "${wanted}"`,
      );
    });
  }
  for (const found of ["https://*.console.example", "*.example", "https://", "https://a b", ""]) {
    test(`or, where there is none, as such: "${found}"`, () =>
      assert.match(refusedOrigin(found), /; list each one by its name$/));
  }
});

test("host names are taken in any case, and refused with scheme, port, path or wildcard", () => {
  const names = ["judge.internal", "Judge.Internal", "judge_1", "10.0.0.5", "2001:db8::1", "[2001:db8::1]"];
  assert.deepEqual(checkHosts("server.allowed_hosts", names), names);
  for (const found of [
    "https://judge.internal/",
    "judge.internal:8080",
    "judge.internal/x",
    "judge.internal.",
  ])
    assert.match(refusedHost(found), /; write "judge\.internal"$/);
  for (const found of ["*", "*.internal", "a b"]) assert.match(refusedHost(found), /; list each one by/);
});
