// docs/configuration.md, made from the schema. Run it to print the page:
// node dist/test/support/configuration-page.js > docs/configuration.md
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { configSchema } from "../../src/config/schema.js";

/** What JSON Schema says of a setting, with the schema's own notes. */
interface Described {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly standard?: string;
  readonly env?: string;
  readonly flag?: string;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly items?: Described;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Described | false;
}

const introduction = `# Configuration

This page is made from the schema of the configuration: \`node dist/test/support/configuration-page.js > docs/configuration.md\`.
[Getting started](getting-started.md) shows a small file.

prefill-judge runs without a configuration: it then serves the two embedded judges on 127.0.0.1:8080. A TOML file changes
that. Name it with \`--config FILE\` or in \`PREFILL_JUDGE_CONFIG\`.

- A flag outranks the environment, the environment outranks the file, the file outranks the embedded judges.
- A relative path starts from the folder of the file.
- A table of an embedded judge or encoder overrides only what it names. \`[judges]\` says which judges there are: with it, an
  embedded judge is served only where the file has a table of its name.
- An unknown key, a wrong value and a missing file stop the start with one line that says what to do.
- \`SIGHUP\`, \`POST /admin/reload\` and \`serve --watch\` read the file again, and [swap judges](operations.md#swap-judges-without-touching-clients).
  A reload takes \`default_judge\`, \`[judges]\`, \`[encoders]\`, \`[[envelopes]]\` and all of \`[runtime]\` but \`on_failure\` and \`cache_bytes\`.
  These two, \`[server]\` with its keys, \`[log]\`, flags and environment variables need a new start.
- \`PREFILL_JUDGE_API_KEYS\` and \`PREFILL_JUDGE_ADMIN_KEY\` hold keys. No flag and no key of the file does.
`;

/** The page's tables: title, what is said first, and the way to the table in the schema. */
const tables: readonly (readonly [title: string, text: string, find: (root: Described) => Described])[] = [
  ["[server]", "The port and its limits.", (root) => property(root, "server")],
  ["[log]", "One JSON line for each event.", (root) => property(root, "log")],
  ["[runtime]", "How requests are judged.", (root) => property(root, "runtime")],
  ["[judges.NAME]", "A judge that clients call by NAME.", (root) => entry(root, "judges")],
  [
    "[judges.NAME.custom]",
    "Answers in custom mode. A judge without this table abstains there.",
    (root) => variant(property(entry(root, "judges"), "custom"), () => true),
  ],
  [
    '[encoders.NAME] of type "onnx"',
    "An encoder that runs in a process of this machine.",
    (root) => variant(entry(root, "encoders"), (found) => property(found, "type").const === "onnx"),
  ],
  [
    '[encoders.NAME] of type "vllm"',
    "An encoder behind a vLLM server. See [vLLM](vllm.md).",
    (root) => variant(entry(root, "encoders"), (found) => property(found, "type").const === "vllm"),
  ],
  [
    "[[envelopes]]",
    "What a client of your own puts around what its user typed; the package knows the usual ones.",
    (root) => property(root, "envelopes").items!,
  ],
];

export function configurationPage(): string {
  const schema = configSchema({ base: "/", env: {}, encoderIds: [] });
  const root = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Described;
  const top = { ...root, properties: { default_judge: property(root, "default_judge") } };
  const parts = [
    introduction,
    section("Top of the file", "", top),
    ...tables.map(([title, text, find]) => section(`\`${title}\``, text, find(root))),
  ];
  return parts.join("\n");
}

function section(title: string, text: string, table: Described): string {
  const rows = Object.entries(table.properties!)
    .filter(([, setting]) => setting.const === undefined && setting.description !== undefined)
    .map(([key, setting]) => row(key, setting, table.required?.includes(key) === true));
  const settings = rows.some(([, , , , given]) => given !== "");
  const head = ["key", "what it is", "value", "default", ...(settings ? ["environment, flag"] : [])];
  const lines = [head, head.map(() => "---"), ...rows.map((cells) => cells.slice(0, head.length))];
  const body = lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  return [`## ${title}`, "", ...(text === "" ? [] : [text, ""]), body, ""].join("\n");
}

function row(key: string, setting: Described, isRequired: boolean): string[] {
  const { description = "", env, flag } = setting;
  const given = env === undefined ? "" : `\`${env}\`, \`${flag}\``;
  const standard = isRequired ? "must be given" : (setting.standard ?? defaultOf(setting));
  return [`\`${key}\``, description, valueText(setting), standard, given];
}

function defaultOf({ default: value }: Described): string {
  if (value === undefined || value === null) return "none";
  return Array.isArray(value) && value.length === 0 ? "none" : `\`${JSON.stringify(value)}\``;
}

function valueText(setting: Described): string {
  const { type, minimum, maximum } = setting;
  const choices = setting.anyOf?.filter((choice) => choice.type !== "null");
  if (choices !== undefined) return choices.map(valueText).join(", or ");
  if (setting.enum !== undefined) return setting.enum.map((word) => `\`"${word}"\``).join(", ");
  if (type === "array") return "list";
  if (type === "object") return "table";
  if (type === "boolean") return "`true`, `false`";
  if (type === "integer" || type === "number")
    return maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER
      ? `number, at least ${minimum}`
      : `number, ${minimum} to ${maximum}`;
  return "text";
}

function property({ properties }: Described, key: string): Described {
  return properties![key]!;
}

/** The table of one of the named things in `key`. */
function entry(root: Described, key: string): Described {
  return property(root, key).additionalProperties as Described;
}

function variant({ anyOf, oneOf }: Described, isIt: (found: Described) => boolean): Described {
  return (anyOf ?? oneOf)!.find((found) => found.properties !== undefined && isIt(found))!;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(configurationPage());
