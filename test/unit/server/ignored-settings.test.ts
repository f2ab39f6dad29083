import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoredChanges } from "../../../src/server/ignored-settings.js";
import { parseConfig } from "../../support/judge-server.js";

test("settings that a reload does not take are named as in the file, and no others", () => {
  const started = parseConfig("[server]\nhost = '127.0.0.1'\n[runtime]\ndeadline_ms = 1000");
  assert.deepEqual(ignoredChanges(started, started), []);
  assert.deepEqual(ignoredChanges(started, parseConfig("[runtime]\ndeadline_ms = 2000")), []);
  const now = parseConfig(
    "[server]\nmax_body_bytes = 2048\n[log]\nlevel = 'warn'\n[runtime]\non_failure = 'error'",
  );
  const keyed = { ...now, server: { ...now.server, keys: ["k"] } };
  assert.deepEqual(ignoredChanges(started, keyed).sort(), [
    "log.level",
    "runtime.on_failure",
    "server.api_keys_file",
    "server.max_body_bytes",
  ]);
});
