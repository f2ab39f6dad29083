// The texts that a user pastes: a curl command, and Switchyard's routes.toml for a configuration.
import { type CustomSettings, pointerPath } from "../../answer/custom.js";
import type { Config } from "../../config/config.js";
import type { JudgeConfig } from "../../config/schema.js";

/** The router waits so much longer than the deadline of the judge, for transport and a new connection. */
export const routerMarginMs = 3000;

/** The variable that holds a key of this server's, in Switchyard's process and in the shell of a curl. */
const keyVariable = "JUDGE_KEY";
/** A guess: no route has been measured with it. */
const guessedThreshold = 0.8;

/** A curl that asks the first judge, as one line. */
export function curlLine(url: string, judge: string, hasKeys: boolean): string {
  const body = { model: judge, messages: [{ role: "user", content: "What is the capital of France?" }] };
  const key = hasKeys ? ` -H "authorization: Bearer $${keyVariable}"` : "";
  return `curl -s ${url}/v1/chat/completions -H 'content-type: application/json'${key} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
}

/**
 * A whole routes.toml for Switchyard 0.3.0 with the first judge. The lines of the models are examples.
 * @param threshold base_threshold; absent: a guess, which the text says
 */
export function routesToml({ judges, runtime, server }: Config, url: string, threshold?: number): string {
  const [{ custom }] = judges as readonly [JudgeConfig];
  const groups = custom === null ? ["weak", "strong"] : Object.keys(custom.targets);
  const targets = [
    ...judges.map(({ id }, index) => targetTable(judgeTarget(index), id, "judge")),
    ...groups.map((group) => targetTable(group, `${group}-model`, "models")),
  ];
  return `schema_version = 1

[llm_clients.judge]
format = "openai_chat"
base_url = "${url}/v1"
timeout_ms = ${runtime.deadlineMs + routerMarginMs}
${server.keys.length === 0 ? "" : `# the variable, in Switchyard's process, that holds one of this server's keys\napi_key_env = "${keyVariable}"\n`}
# your models: replace base_url and the ids
[llm_clients.models]
format = "openai_chat"
base_url = "http://127.0.0.1:9000/v1"

${targets.join("\n\n")}

[routes.auto]
id = "auto"
type = "llm_classifier"
${custom === null ? capabilityRoute(threshold) : customRoute(custom)}
`;
}

function capabilityRoute(threshold: number | undefined): string {
  const guess = "# a guess: prefill-judge calibrate measures one for your judge and your models\n";
  return `mode = "capability"
classifier_target = "${judgeTarget(0)}"
strong_target = "strong"
weak_target = "weak"
${threshold === undefined ? guess : ""}base_threshold = ${(threshold ?? guessedThreshold).toFixed(threshold === undefined ? 2 : 4)}
threshold_step = 0.0`;
}

/** A route of custom mode that accepts the answers of the judge's table. */
function customRoute(custom: CustomSettings): string {
  const groups = Object.keys(custom.targets);
  const list = (names: readonly string[]) => `[${names.map(tomlString).join(", ")}]`;
  const models = groups.map((group) => `${tomlKey(group)} = ${list([group])}`).join(", ");
  const schema = JSON.stringify(schemaOf(pointerPath(custom.pointer), groups));
  return `mode = "custom"
models = { judge = ["${judgeTarget(0)}"], any = ${list(groups)}, ${models} }
default_target = ${tomlString(custom.defaultGroup)}
prompt = "Which group of models solves this task?"
response_schema = ${schema.includes("'") ? tomlString(schema) : `'${schema}'`}
policy = { type = "target_selector", selector = ${tomlString(custom.pointer)} }`;
}

/** A schema with objects along the pointer and the name of a group at its end. */
function schemaOf([key, ...rest]: readonly string[], groups: readonly string[]): object {
  if (key === undefined) return { type: "string", enum: groups };
  return { type: "object", properties: { [key]: schemaOf(rest, groups) }, required: [key] };
}

function targetTable(name: string, id: string, client: string): string {
  return `[targets.${tomlKey(name)}]\nid = ${tomlString(id)}\nllm_client = "${client}"`;
}

function judgeTarget(index: number): string {
  return index === 0 ? "prefill" : `prefill_${index + 1}`;
}

function tomlKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : tomlString(name);
}

/** TOML has the escapes of JSON, except for DEL, which no name holds. */
function tomlString(text: string): string {
  return JSON.stringify(text);
}
