// Checkpoint folders: the real fixture, and copies of it with one fault each.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { loadCheckpoint } from "../../../src/checkpoint/load.js";
import { parseSafetensors, serializeSafetensors } from "../../../src/checkpoint/safetensors.js";
import { fixturePath, packagePath, readJson } from "../../support/fixtures.js";
import { rejection } from "../../support/refusal.js";

const root = mkdtempSync(join(tmpdir(), "prefill-judge-checkpoint-"));
after(() => rmSync(root, { recursive: true }));

let copies = 0;
/** A copy of the fixture, changed. */
function copyOf(change: (path: (name: string) => string) => void): string {
  const folder = join(root, `copy-${++copies}`);
  cpSync(fixturePath("checkpoints/router-json-v1"), folder, { recursive: true });
  change((name) => join(folder, name));
  return folder;
}

test("a folder without selftest and notice loads, and says that it has none", async () => {
  const checkpoint = await loadCheckpoint(fixturePath("checkpoints/router-json-v1"));
  assert.equal(checkpoint.encoderName, "example/tiny-encoder");
  assert.equal(checkpoint.selftest, null);
  assert.equal(checkpoint.notice, null);
  assert.match(checkpoint.hash, /^[0-9a-f]{16}$/);
});

test("an embedded checkpoint loads with its selftest and notice", async () => {
  const { selftest, notice, files } = await loadCheckpoint(packagePath("checkpoints/minilm-l6"));
  assert.equal(selftest?.prompts.length, 6);
  assert.equal(notice, readFileSync(packagePath("checkpoints/minilm-l6/notice.txt"), "utf8").trim());
  assert.equal(files["router.safetensors"], selftest?.files["router.safetensors"]);
});

test("the hash changes with one bit of the tensors and with router.json, and with nothing else", async () => {
  const { hash } = await loadCheckpoint(copyOf(() => {}));
  const flipped = copyOf((path) => {
    const bytes = readFileSync(path("router.safetensors"));
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(path("router.safetensors"), bytes);
  });
  const renamed = copyOf((path) => {
    const router = readJson<object>(path("router.json"));
    writeFileSync(path("router.json"), JSON.stringify({ ...router, output_names: ["weak", "other"] }));
  });
  const noted = copyOf((path) => writeFileSync(path("notice.txt"), "careful\n"));
  const [one, two, three] = await Promise.all([flipped, renamed, noted].map(loadCheckpoint));
  assert.equal(new Set([hash, one!.hash, two!.hash]).size, 3);
  assert.equal(three!.hash, hash);
  assert.equal(three!.notice, "careful");
});

type Damage = readonly [file: string, damage: (path: (name: string) => string) => void];
const editRouter = (change: object) => (path: (name: string) => string) => {
  writeFileSync(path("router.json"), JSON.stringify({ ...readJson<object>(path("router.json")), ...change }));
};
const damages: Readonly<Record<string, Damage>> = {
  "router.json is missing": ["router.json", (path) => rmSync(path("router.json"))],
  "router.safetensors is missing": ["router.safetensors", (path) => rmSync(path("router.safetensors"))],
  "router.safetensors is a dangling link": [
    "router.safetensors",
    (path) => {
      rmSync(path("router.safetensors"));
      symlinkSync(join(root, "nowhere"), path("router.safetensors"));
    },
  ],
  "router.json is a pipe": [
    "router.json",
    (path) => {
      rmSync(path("router.json"));
      execFileSync("mkfifo", [path("router.json")]);
    },
  ],
  "notice.txt is a pipe": ["notice.txt", (path) => execFileSync("mkfifo", [path("notice.txt")])],
  "selftest.json is a dangling link": [
    "selftest.json",
    (path) => symlinkSync(join(root, "nowhere"), path("selftest.json")),
  ],
  "router.json is a folder": [
    "router.json",
    (path) => {
      rmSync(path("router.json"));
      mkdirSync(path("router.json"));
    },
  ],
  "router.json is not JSON": ["router.json", (path) => writeFileSync(path("router.json"), '{"a":\n\n')],
  "router.json is empty": ["router.json", (path) => writeFileSync(path("router.json"), "")],
  "router.json is of another version": ["router.json", editRouter({ format_version: 2 })],
  "router.json has other dimensions": ["router.json", editRouter({ raw_feature_dim: 95 })],
  "router.safetensors is cut short": [
    "router.safetensors",
    (path) => truncateSync(path("router.safetensors"), 5000),
  ],
  "router.safetensors is empty": ["router.safetensors", (path) => truncateSync(path("router.safetensors"))],
  "router.safetensors does not fit router.json": ["router.safetensors", editRouter({ pca_dim: 11 })],
  "router.safetensors lacks a tensor": ["router.safetensors", (path) => dropTensor(path)],
  "router.safetensors is larger than any head": [
    "router.safetensors",
    (path) => truncateSync(path("router.safetensors"), 2 ** 30 + 1),
  ],
  "selftest.json is not JSON": ["selftest.json", (path) => writeFileSync(path("selftest.json"), "")],
  "selftest.json has another form": ["selftest.json", (path) => writeFileSync(path("selftest.json"), "{}")],
};

function dropTensor(path: (name: string) => string): void {
  const { tensors } = parseSafetensors(readFileSync(path("router.safetensors")));
  const kept = [...tensors].filter(([name]) => name !== "transform.pca_mean");
  writeFileSync(path("router.safetensors"), serializeSafetensors(kept));
}

describe("a damaged folder is refused by one line that names folder, file", () => {
  for (const [name, [file, damage]] of Object.entries(damages)) {
    test(name, async () => {
      const folder = copyOf(damage);
      const { message } = await rejection("checkpoint", loadCheckpoint(folder));
      assert.ok(message.startsWith(`checkpoint ${folder}: `), message);
      assert.ok(message.slice(`checkpoint ${folder}: `.length).includes(file), message);
      assert.ok(message.length < folder.length + 250, message);
    });
  }
});

describe("and says what to do", () => {
  for (const [name, [, damage]] of Object.entries(damages)) {
    test(name, async () => {
      const { message } = await rejection("checkpoint", loadCheckpoint(copyOf(damage)));
      assert.match(message, /; .*\b(restore|replace|give|use|set|is a folder with)\b/);
    });
  }
});

test("a folder that does not exist is refused like one without files", async () => {
  const { message } = await rejection("checkpoint", loadCheckpoint(join(root, "nowhere")));
  assert.match(message, /nowhere: router\.json is missing; a checkpoint is a folder with /);
});
