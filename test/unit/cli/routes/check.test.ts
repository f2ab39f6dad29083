// Each finding about a Switchyard file, with the line it names; and what is no finding.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { checkRoutes } from "../../../../src/cli/routes/check.js";
import { routesToml } from "../../../../src/cli/routes/routes-text.js";
import { baseUrl } from "../../../../src/config/base-url.js";
import { fixturePath } from "../../../support/fixtures.js";
import { parseConfig } from "../../../support/judge-server.js";

const judge = (id: string, more = "") => `[judges.${JSON.stringify(id)}]
checkpoint = "${fixturePath("checkpoints/router-json-v1")}"
encoder = "tiny"
output = "weak"
${more}
`;
const encoder = `[encoders.tiny]\ntype = "onnx"\npath = "${fixturePath("tiny-encoder")}"\n`;
const configOf = (toml: string) => parseConfig(toml, { "--port": "8080" });
const config = configOf(encoder + judge("prefill-judge", 'aliases = ["second-name"]'));
const good = routesToml(config, baseUrl("127.0.0.1", 8080));

/** Findings as `LINE severity: message`. */
const findings = (text: string, given = config) =>
  checkRoutes("routes.toml", text, given).map(
    ({ line, severity, message }) => `${line} ${severity}: ${message}`,
  );

/** The good file with one piece replaced; the piece must be there. */
function changed(piece: string | RegExp, other: string): string {
  const text = good.replace(piece, other);
  assert.notEqual(text, good);
  return text;
}
/** The line of the good file, counted from 1, that starts so. */
function lineOf(start: string): number {
  return good.split("\n").findIndex((line) => line.startsWith(start)) + 1;
}

/** The only finding of a text: its severity, its message, and the line that starts so in the good file. */
function assertFinding(text: string, start: string, wanted: RegExp, given = config): void {
  const found = findings(text, given);
  assert.equal(found.length, 1, found.join("\n"));
  assert.match(found[0]!, new RegExp(`^${lineOf(start)} ${wanted.source}`));
}

describe("the file that `prefill-judge routes` prints has nothing to change", () => {
  const check = (given: typeof config) =>
    assert.deepEqual(
      checkRoutes("routes.toml", routesToml(given, baseUrl(given.server.host, given.server.port)), given),
      [],
    );
  test("for one judge, for several, and for the embedded ones", () => {
    check(config);
    check(configOf(encoder + judge("a") + judge('with "quotes" and \\ü')));
    check(configOf(""));
  });
  test("with keys, which it names the variable of, and no key", () => {
    const keyed = { ...config, server: { ...config.server, keys: ["sk-secret"] } };
    check(keyed);
    const text = routesToml(keyed, baseUrl("127.0.0.1", 8080));
    assert.match(text, /\napi_key_env = "JUDGE_KEY"\n/);
    assert.doesNotMatch(text, /secret/);
    for (const other of ["forward_auth = true", 'extra_headers = { X-Api-Key = "k" }'])
      assert.deepEqual(
        checkRoutes("routes.toml", text.replace('api_key_env = "JUDGE_KEY"', other), keyed),
        [],
      );
    const without = checkRoutes("routes.toml", good, keyed);
    assert.deepEqual(
      without.map(({ severity, message }) => [severity, message.slice(0, 30)]),
      [["error", "this server wants a key, and w"]],
    );
  });
  test("with a threshold, which is no guess then", () => {
    const text = routesToml(config, baseUrl("127.0.0.1", 8080), 0.433);
    assert.match(text, /weak_target = "weak"\nbase_threshold = 0\.4330\n/);
    assert.deepEqual(checkRoutes("routes.toml", text, config), []);
  });
  const { server, runtime } = config;
  test("for any port", () => {
    const port = fc.integer({ min: 1, max: 65_535 });
    const property = fc.property(port, (given) => check({ ...config, server: { ...server, port: given } }));
    fc.assert(property, { examples: [[80], [443]] });
  });
  test("for any host", () => {
    for (const host of ["127.0.0.1", "localhost", "0.0.0.0", "::1", "::", "10.1.2.3", "judge.example"])
      check({ ...config, server: { ...server, host } });
  });
  test("for any deadline", () => {
    for (const deadlineMs of [1, 2000, 3666, 5000, 60_000, 3_600_000])
      check({ ...config, runtime: { ...runtime, deadlineMs } });
  });
});

describe("of the client", () => {
  const client = "[llm_clients.judge]";
  test("no timeout_ms is a warning", () => {
    assertFinding(
      changed(/timeout_ms = .*\n/, ""),
      client,
      /warning: without timeout_ms .* write timeout_ms = 5000/,
    );
  });
  test("a timeout_ms within the deadline is an error", () => {
    for (const value of [1, 1999, 2000])
      assertFinding(
        changed("timeout_ms = 5000", `timeout_ms = ${value}`),
        "timeout_ms",
        /error: .* write timeout_ms = 5000/,
      );
    assert.deepEqual(findings(changed("timeout_ms = 5000", "timeout_ms = 2001")), []);
  });
  test("a long timeout_ms is a warning; it holds for all tries together, so max_retries adds nothing", () => {
    const long = changed("timeout_ms = 5000", "timeout_ms = 60000");
    assertFinding(long, "timeout_ms", /warning: .* waiting 60 s/);
    for (const line of ["timeout_ms = 7000", "timeout_ms = 5000\nmax_retries = 9", "timeout_ms = 19000"])
      assert.deepEqual(findings(changed("timeout_ms = 5000", line)), []);
  });
  for (const [name, url, finding] of [
    [
      "another port",
      "http://127.0.0.1:8081/v1",
      /error: this server listens on port 8080; write base_url = "http:\/\/127/,
    ],
    ["the default port", "http://localhost/v1", /error: this server listens on port 8080/],
    ["another path", "http://127.0.0.1:8080/v2", /error: \/v2 is no path of this server; write base_url/],
    [
      "an operation that Switchyard does not take off",
      "http://127.0.0.1:8080/v1/score",
      /error: \/v1\/score is no path/,
    ],
    ["no address", "127.0.0.1:8080/v1", /error: base_url .* write base_url/],
    [
      "TLS, which this server does not speak",
      "https://127.0.0.1:8080/v1",
      /error: .* write base_url = "http:/,
    ],
  ] as const) {
    test(`base_url: ${name}`, () =>
      assertFinding(changed("http://127.0.0.1:8080/v1", url), "base_url", finding));
  }
  test("base_url: with the operation, as Switchyard takes it off the end", () => {
    const of = (format: string, path: string) =>
      findings(
        changed("http://127.0.0.1:8080/v1", `http://127.0.0.1:8080${path}`).replace(
          'format = "openai_chat"',
          `format = "${format}"`,
        ),
      );
    for (const path of [
      "",
      "/",
      "/v1/",
      "/v1/chat/completions",
      "/v1/chat/completions/",
      "/chat/completions",
      "/v1/responses",
    ])
      for (const format of ["openai_chat", "openai_responses"]) assert.deepEqual(of(format, path), [], path);
    for (const path of ["", "/v1/", "/v1/messages"])
      assert.deepEqual(of("anthropic_messages", path), [], path);
    for (const path of ["/messages", "/v1/chat/completions"])
      assert.match(of("anthropic_messages", path).join(), /is no path of this server; write base_url/);
  });
  test("base_url: another port of the address that this server listens on", () => {
    const given = { ...config, server: { ...config.server, host: "10.1.2.3" } };
    assertFinding(
      changed("http://127.0.0.1:8080/v1", "http://10.1.2.3:8081/v1"),
      "base_url",
      /error: .*port 8080/,
      given,
    );
  });
  test("an address that a proxy may have is none of this server's business", () => {
    assert.deepEqual(findings(changed("http://127.0.0.1:8080/v1", "https://judge.example/v1")), []);
  });
  test("what to write is an address, also where this server listens on IPv6", () => {
    for (const host of ["::1", "::", "0.0.0.0"]) {
      const given = { ...config, server: { ...config.server, host } };
      const [found] = findings(changed("http://127.0.0.1:8080/v1", "http://127.0.0.1:8081/v1"), given);
      const url = /write base_url = "([^"]+)"/.exec(found!)?.[1];
      assert.ok(URL.canParse(url!), url);
      assert.equal(new URL(url!).port, "8080");
    }
  });
  test("base_url: missing, at its table", () => {
    assertFinding(
      changed(/base_url = "http:\/\/127.0.0.1:8080.*\n/, ""),
      client,
      /error: base_url is missing/,
    );
  });
  test("another format", () => {
    for (const format of ["openai_responses", "anthropic_messages"])
      assert.deepEqual(findings(changed("openai_chat", format)), []);
    assertFinding(
      changed("openai_chat", "gemini"),
      "format",
      /error: .* does not speak .* write format = "openai_chat"/,
    );
  });
});

describe("of the target", () => {
  test("an id that no judge has, near or at our port, with the nearest name", () => {
    for (const id of ["prefil-judge", "prefill-judge-x", "x-prefill-judge"])
      assertFinding(
        changed('"prefill-judge"', `"${id}"`),
        "id = ",
        /error: no judge is named .* write id = "prefill-judge"/,
      );
    assert.deepEqual(findings(changed('"prefill-judge"', '"second-name"')), []);
  });
  test("an id that is nobody's, at our port", () => {
    assertFinding(changed('"prefill-judge"', '"gpt-4"'), "id = ", /error: no judge is named "gpt-4"/);
  });
  test("any id is right where default_judge answers it", () => {
    const given = { ...config, defaultJudge: "second-name" };
    assert.deepEqual(findings(changed('"prefill-judge"', '"gpt-4"'), given), []);
  });
  test("a target that is not there", () => {
    const text = changed('classifier_target = "prefill"', 'classifier_target = "prefil"');
    assertFinding(
      text,
      "classifier_target",
      /error: there is no target "prefil"; name one of prefill, weak, strong/,
    );
  });
  test("a file without a route to a judge of ours", () => {
    const text = changed('"prefill-judge"', '"gpt-4"').replace(":8080", ":9999");
    assertFinding(
      text,
      "schema_version",
      /error: no route asks a judge of this server \(prefill-judge, second-name\)/,
    );
  });
});
