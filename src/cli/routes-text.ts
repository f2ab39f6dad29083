// The texts a user pastes: curl, and Switchyard's routes.toml for a configuration.
import type { Config } from "../config.js";

/** Added to the judge's own deadline for the router's timeout: transport and a restart of the router's connection. */
const routerMarginMs = 3000;

/** The base URL that a client on this machine uses, e.g. `http://127.0.0.1:8080`. */
export function baseUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** A curl that asks the first judge, as one line. */
export function curlLine(url: string, judge: string): string {
  const body = { model: judge, messages: [{ role: "user", content: "What is the capital of France?" }] };
  return `curl -s ${url}/v1/chat/completions -H 'content-type: application/json' -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
}

/** A whole routes.toml for Switchyard 0.3.0 that uses the first judge; the models' lines are the user's to fill in. */
export function routesToml({ judges, runtime }: Config, url: string): string {
  const targets = judges.map(
    ({ id }, index) => `[targets.${targetName(index)}]\nid = ${JSON.stringify(id)}\nllm_client = "judge"`,
  );
  return `schema_version = 1

[llm_clients.judge]
format = "openai_chat"
base_url = "${url}/v1"
timeout_ms = ${runtime.deadlineMs + routerMarginMs}

# your models: replace base_url and the two ids
[llm_clients.models]
format = "openai_chat"
base_url = "http://127.0.0.1:9000/v1"

${targets.join("\n\n")}

[targets.weak]
id = "weak-model"
llm_client = "models"

[targets.strong]
id = "strong-model"
llm_client = "models"

[routes.auto]
id = "auto"
type = "llm_classifier"
mode = "capability"
classifier_target = "${targetName(0)}"
strong_target = "strong"
weak_target = "weak"
base_threshold = 0.80
threshold_step = 0.0
`;
}

function targetName(index: number): string {
  return index === 0 ? "prefill" : `prefill_${index + 1}`;
}
