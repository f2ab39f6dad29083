// Reads the parts of a Switchyard routes.toml that concern a judge. The rest is not read.
import { parse as parseToml, TomlError } from "smol-toml";
import * as z from "zod";
import { JudgeError } from "../../errors.js";

const Client = z.looseObject({
  format: z.string().optional(),
  base_url: z.string().optional(),
  timeout_ms: z.number().optional(),
  api_key_env: z.string().optional(),
  forward_auth: z.boolean().optional(),
  extra_headers: z.record(z.string(), z.unknown()).optional(),
});
const Target = z.looseObject({ id: z.string().optional(), llm_client: z.string().optional() });
/** A route has them in its table `classifier`, or else in its own. */
const thresholds = { base_threshold: z.number().optional(), threshold_step: z.number().optional() };
const Route = z.looseObject({
  type: z.string().optional(),
  mode: z.string().optional(),
  classifier_target: z.string().optional(),
  classifier: z.looseObject({ target: z.string().optional(), ...thresholds }).optional(),
  models: z.looseObject({ judge: z.array(z.string()).optional() }).optional(),
  response_schema: z.string().optional(),
  policy: z.looseObject({ selector: z.string().optional() }).optional(),
  ...thresholds,
});
const RoutesFile = z.looseObject({
  llm_clients: z.record(z.string(), Client).default({}),
  targets: z.record(z.string(), Target).default({}),
  routes: z.record(z.string(), Route).default({}),
});
export type RoutesFile = z.infer<typeof RoutesFile>;
export type ClientTable = z.infer<typeof Client>;
export type RouteTable = z.infer<typeof Route>;
export type Thresholds = Pick<RouteTable, "base_threshold" | "threshold_step">;

/**
 * @param file its name in messages
 * @throws JudgeError `usage` for a text that is not TOML, or not of Switchyard's shape
 */
export function parseRoutesFile(file: string, text: string): RoutesFile {
  let content: unknown;
  try {
    content = parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const found = `${file} line ${error.line}, column ${error.column}: not TOML`;
    throw new JudgeError("usage", { found, remedy: "mend it first", cause: error });
  }
  const result = RoutesFile.safeParse(content);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new JudgeError("usage", {
    found: `${file}: ${path.join(".")}: ${message}`,
    remedy: "Switchyard would not take it either",
  });
}
