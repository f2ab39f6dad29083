// Where a key stands in a TOML text.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parse as parseToml } from "smol-toml";
import { lineOf } from "../../../../src/cli/routes/toml-line.js";

const text = `schema_version = 1            # 1

[llm_clients.judge]           # 3
base_url = "http://x/v1"
[targets."my target"]         # 5
id='a'
"quoted key" = 2

[ routes . auto ]             # 9
  mode   = "capability"
[routes.auto.classifier]      # 11
target = "prefill"
[[lists]]                     # 13
name = "x"`;

describe("a key is found on its line", () => {
  const cases: readonly (readonly [path: string[], line: number])[] = [
    [["schema_version"], 1],
    [["llm_clients", "judge", "base_url"], 4],
    [["targets", "my target", "id"], 6],
    [["targets", "my target", "quoted key"], 7],
    [["routes", "auto", "mode"], 10],
    [["routes", "auto", "classifier", "target"], 12],
    [["lists", "name"], 14],
  ];
  for (const [path, line] of cases) test(path.join("."), () => assert.equal(lineOf(text, path), line));
});

describe("what is not there is found by the innermost table on the way to it", () => {
  const cases: readonly (readonly [path: string[], line: number])[] = [
    [["routes", "auto", "threshold_step"], 9],
    [["routes", "auto", "classifier", "id"], 11],
    [["routes", "other", "mode"], 1],
    [["llm_clients", "judge"], 3],
    [["nothing"], 1],
    [[], 1],
  ];
  for (const [path, line] of cases)
    test(path.join(".") || "nothing at all", () => assert.equal(lineOf(text, path), line));
});

test("a table inside of its parent's line is found there", () => {
  const inline = '[routes]\n\nauto = { mode = "escalation", base_threshold = 0.8 }\n';
  assert.equal(lineOf(inline, ["routes", "auto", "mode"]), 3);
});

describe("is not taken for the key", () => {
  const cases: Readonly<Record<string, string>> = {
    "a comment": "[a]\n# b = 1\n#[a.b]\nb = 2",
    "the same key of another table": "[b]\nb = 1\n[a]\nb = 2",
    "the same key of a table of the same end": "[x.a]\nb = 1\n[a]\nb = 2",
    "a longer key": "[a]\nbb = 1\nb-b = 1\nb = 2",
    "a key within a value": '[a]\nc = "b = 1"\nd = { b = 1 }\nb = 2',
    "a line of a text of several lines": '[a]\nc = """\nb = 1\n[a.b]\n"""\nb = 2',
    "a line of a literal text of several lines": "[a]\nc = '''\nb = 1\n'''\nb = 2",
    "an entry of a list over several lines": '[a]\nc = [\n  ["a"],\n  ["b"],\n]\nb = 2',
  };
  for (const [name, given] of Object.entries(cases)) {
    test(name, () => {
      assert.ok("a" in parseToml(given));
      const lines = given.split("\n");
      assert.equal(lineOf(given, ["a", "b"]), lines.indexOf("b = 2") + 1);
    });
  }
});

test("line ends of Windows count as others do", () => {
  assert.equal(lineOf(text.replaceAll("\n", "\r\n"), ["routes", "auto", "mode"]), 10);
});

test("every key of a file of tables is found on the line where it was written", () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/);
  const spelled = fc.oneof(name, fc.stringMatching(/^[a-z .]{1,6}$/));
  const tables = fc.uniqueArray(
    fc.tuple(fc.array(spelled, { minLength: 1, maxLength: 3 }), fc.uniqueArray(spelled, { maxLength: 3 })),
    { selector: ([path]) => path.join("\u0000"), maxLength: 5 },
  );
  const quote = (key: string) => (/^[\w-]+$/.test(key) ? key : `"${key}"`);
  fc.assert(
    fc.property(tables, (given) => {
      const places: [path: string[], line: number][] = [];
      const lines: string[] = [];
      for (const [path, keys] of given) {
        lines.push("", `[${path.map(quote).join(".")}]`);
        // a key that is also a table of the same place is no TOML
        const own = keys.filter(
          (key) => !given.some(([other]) => other.join("\u0000").startsWith([...path, key].join("\u0000"))),
        );
        for (const key of own) {
          lines.push(`${quote(key)} = 1`);
          places.push([[...path, key], lines.length]);
        }
      }
      for (const [path, line] of places) assert.equal(lineOf(lines.join("\n"), path), line);
    }),
  );
});
