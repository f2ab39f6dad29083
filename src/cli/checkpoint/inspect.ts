// `inspect`: says what a checkpoint is. It needs no encoder.
import * as z from "zod";
import { type Checkpoint, loadCheckpoint } from "../../checkpoint/load.js";
import { RouterJson2 } from "../../checkpoint/router-json-2.js";
import { rawSizeOf } from "../../head/weights.js";
import { keepsOrder } from "../../train/fit/platt.js";
import { printable, type Terminal } from "../terminal.js";
import { type HeadFacts, headFacts, headFactsText, trainingWarnings } from "./head-facts.js";

/** @throws JudgeError `checkpoint` for a checkpoint that cannot be read */
export async function inspect(path: string, options: { json: boolean }, terminal: Terminal): Promise<void> {
  const checkpoint = await loadCheckpoint(path);
  const facts = describe(checkpoint, await headFacts(checkpoint));
  terminal.print(options.json ? JSON.stringify(facts, null, 2) : render(facts));
}

/** Prints the JSON Schema of router.json, format 2. */
export function printSchema(terminal: Terminal): void {
  terminal.print(JSON.stringify(z.toJSONSchema(RouterJson2), null, 2));
}

type Facts = ReturnType<typeof describe>;

function describe(checkpoint: Checkpoint, trained: HeadFacts) {
  const { head, view } = checkpoint;
  const [member] = head.members;
  return {
    path: checkpoint.path,
    format: checkpoint.format,
    hash: checkpoint.hash,
    encoder: checkpoint.encoderName,
    encoder_files: checkpoint.encoderFiles,
    message: checkpoint.message,
    chat_template_kwargs: checkpoint.chatTemplateKwargs,
    view,
    blocks: head.blocks.map((block) => ({
      layers: block.layers,
      pooling: block.pooling,
      combination: block.combination.kind,
      hidden_size: block.hiddenSize,
      features: rawSizeOf(block),
      pca: block.pcaSize,
    })),
    members: {
      count: head.members.length,
      kind: member?.kind ?? null,
      hidden:
        member?.kind === "per_output"
          ? [member.trunk.inputSize, member.trunk.outputSize]
          : (member?.layers.slice(0, -1).map((layer) => layer.outputSize) ?? []),
    },
    outputs: head.outputNames.map((name, index) => ({
      name,
      cost: checkpoint.costs?.[name] ?? null,
      calibration: head.calibration[index] ?? null,
    })),
    selftest_prompts: checkpoint.selftest?.prompts.length ?? 0,
    training: checkpoint.training,
    file_date: trained.fileDate,
    trained: headFactsText(trained),
    problems: problemsOf(checkpoint),
  };
}

/** Reasons to trust a checkpoint less. None of them stops a server. */
function problemsOf({ head, selftest, encoderFiles, view, training }: Checkpoint): string[] {
  const upsideDown = head.outputNames.filter((_, output) => {
    const calibration = head.calibration[output];
    return calibration != null && !keepsOrder(calibration);
  });
  return [
    ...trainingWarnings({ training }),
    ...upsideDown.map(
      (name) =>
        `${name}: its calibration has no positive slope and turns the judge upside down; train it again`,
    ),
    selftest === null && "no selftest: a damaged file or a wrong encoder would not show at load",
    Object.keys(encoderFiles).length === 0 &&
      "only the encoder's name is known: another model of that name would be accepted",
    (view?.template ?? null) === null && "the view of the training (template, truncation) is not recorded",
    head.calibration.every((entry) => entry === null) &&
      "no calibration: the probabilities are the ensemble's own",
  ].filter((problem) => problem !== false);
}

function render(facts: Facts): string {
  const blocks = facts.blocks.map(
    ({ layers, pooling, combination, hidden_size: size, features, pca }) =>
      `layers ${layers.join(", ")} (${combination.replace("_", " ")}), ${pooling} pooling, ${size} wide: ${features} → PCA ${pca}`,
  );
  const outputs = facts.outputs.map(({ name, cost, calibration }) => {
    const price = cost === null ? "" : `, cost ${cost}`;
    return `${name}${price}${calibration === null ? "" : ", calibrated"}`;
  });
  const { count, kind, hidden } = facts.members;
  const lines: [string, readonly string[]][] = [
    ["path", [facts.path]],
    ["format", [facts.format]],
    ["hash", [facts.hash]],
    [
      "encoder",
      [facts.encoder, ...Object.entries(facts.encoder_files).map(([name, hash]) => `${name} ${hash}`)],
    ],
    ["reads", [`the ${facts.message} user message`, ...viewLines(facts)]],
    ["blocks", blocks],
    ["members", [`${count} × ${hidden.join(", ")} (${kind?.replace("_", " ")})`]],
    ["outputs", outputs],
    ["selftest", [facts.selftest_prompts === 0 ? "none" : `${facts.selftest_prompts} prompts`]],
    ["trained", [facts.trained]],
    ["problems", facts.problems.length === 0 ? ["none"] : facts.problems],
  ];
  return lines
    .flatMap(([name, values]) =>
      values.map((value, index) => `${(index === 0 ? name : "").padEnd(10)}${printable(value)}`),
    )
    .join("\n");
}

function viewLines({ view, chat_template_kwargs: kwargs }: Facts): string[] {
  return [
    view?.template && `template ${view.template}`,
    view?.max_tokens && `at most ${view.max_tokens} tokens`,
    view?.truncation && `cut: ${view.truncation}`,
    view?.envelopes === "strip" && "without the envelopes of clients",
    view?.spaces === "single" && "runs of spaces as one",
    Object.keys(kwargs).length > 0 && `template arguments ${JSON.stringify(kwargs)}`,
  ].filter((line) => typeof line === "string");
}
