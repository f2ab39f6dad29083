// The table of a judge, and that of its answers in custom mode.
import * as z from "zod";
import { primaryRules } from "../answer/capability.js";
import { choicePolicies } from "../answer/choice.js";
import type { CustomSettings } from "../answer/custom.js";
import { escalations } from "../answer/escalation.js";
import { spaceRules, truncations } from "../encoder/view.js";
import { addClause, nameText, optional, required, table } from "../input/settings-table.js";
import { calibrations, truncatedRules } from "../judge/judge-parts.js";
import { envelopeRules } from "../prompt/envelope.js";
import { judgedMessages } from "../prompt/judged-text.js";

const name = nameText();
const pointerExample = 'e.g. "/decision/target"';

const CustomTable = table({
  pointer: z
    .string(required(`the selector of the route, ${pointerExample}`))
    .regex(/^(\/([^~/]|~[01])*)+$/, { error: 'wanted a JSON Pointer such as "/decision/target"' })
    .meta({ description: "JSON Pointer to the string that the router reads." }),
  targets: z
    .record(name, z.string().min(1))
    .default({})
    .meta({ description: "Output of the checkpoint by group of models.", standard: "must be given" }),
  policy: z.enum(choicePolicies).default("tolerance").meta({
    description: "How a group is chosen: the cheapest within `tolerance`, the likeliest, or the most useful.",
  }),
  // as llm-router
  tolerance: z.number().min(0).max(1).default(0.2).meta({ description: "For `tolerance`." }),
  costs: optional(z.record(name, z.number().min(0))).meta({
    description: "Cost by group.",
    standard: "the checkpoint's",
  }),
  lambda: z.number().min(0).max(1).default(0.5).meta({ description: "Weight of the cost, for `utility`." }),
  template: z
    .record(z.string(), z.json())
    .default({})
    .meta({ description: "What else the answer holds, of any depth." }),
  default: optional(name).meta({
    description: "The group of every request that cannot be judged.",
    standard: "`capable`, where `targets` has it",
  }),
}).transform((found, context): CustomSettings => {
  const { pointer, targets, policy, tolerance, lambda, costs, template } = found;
  if (Object.keys(targets).length === 0) {
    const wanted = 'groups of the route and outputs, e.g. { efficient = "weak" }';
    addClause(context, "targets", `is missing; wanted ${wanted}`);
  } else if (found.default === null && !Object.hasOwn(targets, "capable")) {
    addClause(context, "default", "is missing; wanted the group of requests that cannot be judged");
  }
  const rule = { tolerance: { policy, tolerance }, utility: { policy, lambda }, max: { policy } }[policy];
  const defaultGroup = found.default ?? "capable";
  return { pointer, targets, rule: rule as CustomSettings["rule"], costs, template, defaultGroup };
});

/**
 * @param folder the schema of a path that must be given, by what it leads to
 * @param encoderIds those that are configured
 */
export function judgeTable(
  folder: (wanted: string) => z.ZodType<string, string>,
  encoderIds: readonly string[],
) {
  return table({
    checkpoint: folder("a checkpoint folder").meta({
      description: "Folder with `router.json`, or a `.pt` file of llm-router or Switchyard.",
    }),
    encoder: nameText(required(`one of ${encoderIds.join(", ")}`)).meta({
      description: "Name of the encoder.",
    }),
    output: optional(z.string().min(1)).meta({
      description: "The output that is `p_solve`; needed where the checkpoint has several.",
    }),
    aliases: z.array(name).default([]).meta({ description: "Other names that clients may use." }),
    primary_rule: z
      .enum(primaryRules)
      .default("SUP-4")
      .meta({ description: "The rule of every verdict; each rule has its own category." }),
    max_tokens: optional(z.int().min(1)).meta({
      description: "Longer texts are cut to so many tokens.",
      standard: "the checkpoint's, else the encoder's limit, at most 2048",
    }),
    truncation: optional(z.enum(truncations)).meta({
      description: "`middle` keeps head and tail of a text that is cut, `right` keeps its first tokens.",
      standard: "the checkpoint's, else `middle`",
    }),
    spaces: optional(z.enum(spaceRules)).meta({
      description: "`single` reads a run of spaces as one.",
      standard: "the checkpoint's, else `keep`",
    }),
    envelopes: optional(z.enum(envelopeRules)).meta({
      description: "`strip` takes off what clients put around the user's text.",
      standard: "the checkpoint's, else `keep`",
    }),
    on_truncation: z
      .enum(truncatedRules)
      .default("judge")
      .meta({ description: "Whether a text that was cut is judged, or abstained from." }),
    message: optional(z.enum(judgedMessages)).meta({
      description: "Which user message is judged.",
      standard: "the checkpoint's",
    }),
    calibration: z
      .enum(calibrations)
      .default("on")
      .meta({ description: "`off` answers with raw probabilities, for routers that calibrate." }),
    accept_encoder: optional(z.string().min(1)).meta({
      description: "Another name of the encoder's model that is as good as the checkpoint's own.",
    }),
    escalation: z
      .enum(escalations)
      .default("stay")
      .meta({ description: "The answer to every request in escalation mode." }),
    custom: optional(CustomTable),
  });
}
