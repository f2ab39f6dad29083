// What is known of clients that put something around their users' text.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { JudgeError } from "../errors.js";
import type { Envelope } from "../prompt/envelope.js";
import { EnvelopeTable } from "./schema.js";

const Packaged = z.array(EnvelopeTable.extend({ beside: z.string().min(1).optional() }));

/**
 * The list of prompts/envelopes.json.
 * @param packageRoot folder of package.json
 * @throws JudgeError `config`
 */
export function readEnvelopes(packageRoot: string): Envelope[] {
  try {
    const content = JSON.parse(readFileSync(join(packageRoot, "prompts/envelopes.json"), "utf8"));
    return Packaged.parse(content).map(toEnvelope);
  } catch (error) {
    throw new JudgeError("config", {
      found: "prompts/envelopes.json is missing or not a list of envelopes",
      remedy: "restore it from the package",
      cause: error,
    });
  }
}

/** @throws JudgeError `config` where the marker that ends it is missing */
export function toEnvelope({ end, ...envelope }: z.infer<typeof Packaged>[number]): Envelope {
  if (end === undefined && envelope.kind !== "message") {
    const place = `envelopes: the ${envelope.kind} of client ${envelope.client}`;
    throw new JudgeError("config", {
      found: `${place} has no end`,
      remedy: "give it the marker that ends it",
    });
  }
  return { ...envelope, end: end ?? null };
}
