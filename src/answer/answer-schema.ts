// What answer-facts.ts gives, as schemas for the API document and the tests.
import * as z from "zod";
import { abstainReasons } from "../judge/abstention-reasons.js";

const probability = z.number().min(0).max(1);
const stages = z.enum(["queue", "tokenize", "prefill", "head", "total"]);

const Envelopes = z
  .array(
    z.strictObject({
      client: z.string(),
      kind: z.enum(["block", "wrapper", "message"]),
      count: z.int().min(1),
      characters: z.int().min(1),
    }),
  )
  .meta({
    description:
      "What clients had put around the user's text, and was taken off before it was judged; absent: nothing.",
  });

export const PrefillJudge = z
  .strictObject({
    judge: z.string(),
    checkpoint: z.string(),
    encoder: z.string(),
    output: z.string(),
    p_solve: probability.nullable(),
    probabilities: z.record(z.string(), probability),
    raw: z.record(z.string(), probability),
    tokens: z.int().min(0),
    truncated: z.boolean(),
    ignored_parts: z.int().min(0),
    envelopes: Envelopes.optional(),
    cached: z.boolean(),
    cache: z.enum(["hit", "shared", "miss"]).nullable(),
    milliseconds: z.record(stages, z.number().min(0)),
    abstained: z.enum(abstainReasons).nullable(),
  })
  .meta({
    description:
      "What made the answer. abstained: null, or why there is no probability (then p_solve is null).",
  });

export const ScoreResult = PrefillJudge.pick({
  p_solve: true,
  probabilities: true,
  raw: true,
  tokens: true,
  truncated: true,
  envelopes: true,
  cached: true,
  cache: true,
  abstained: true,
});
