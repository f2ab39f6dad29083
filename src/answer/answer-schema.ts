// The answers as schemas: the API document is made from them, and tests hold every answer against them.
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

export const ChatCompletion = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
  choices: z
    .array(
      z.strictObject({
        index: z.int().min(0),
        message: z.strictObject({
          role: z.literal("assistant"),
          content: z.string().meta({
            description:
              "The verdict: a JSON object with crux, primary_rule, capability_boundary and p_solve. An abstention is " +
              "rule none, boundary unmatched, p_solve 0.0. A request whose json_schema is a router's custom or escalation " +
              "schema gets an object of that schema.",
          }),
          refusal: z.null(),
        }),
        logprobs: z.null(),
        finish_reason: z.literal("stop"),
      }),
    )
    .min(1)
    .max(8),
  usage: z.strictObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
  prefill_judge: PrefillJudge,
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

export const ScoreAnswer = z.strictObject({
  model: z.string(),
  results: z.array(ScoreResult),
  milliseconds: z.number(),
});

export const Model = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
});
export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(Model) });

export const Health = z.strictObject({ status: z.literal("ok") });
export const Readiness = z.strictObject({ ready: z.boolean(), judges: z.record(z.string(), z.boolean()) });

export const ErrorAnswer = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});
