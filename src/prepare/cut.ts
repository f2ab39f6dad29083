// Cuts a model down to what its hidden states need: new outputs, no vocabulary head, no upper blocks.
import { JudgeError } from "../errors.js";
import { ancestorsOf, createGraph, type Graph, inputsOf } from "./graph.js";
import type { GraphProto, ModelProto, NodeProto, ValueInfoProto } from "./onnx-proto.js";
import { findResidualStream } from "./residual.js";
import type { Sizes } from "./sizes.js";

/** Element types of onnx.proto. */
const float32 = 1;
const float16 = 10;
const bfloat16 = 16;

export interface Cut {
  /** with outputs hidden_states.k, and present.l of every block that is kept */
  readonly graph: GraphProto;
  /** those that the model could give */
  readonly available: number;
}

export interface CutOptions {
  /** of the hidden states that are wanted, 0 = embeddings */
  readonly layers: readonly number[];
  readonly sizes: Sizes;
  /** whether everything else stays, to be compared with what is cut */
  readonly keepsAll?: boolean;
}

/**
 * @throws JudgeError `usage` for a model without residual stream, or without one of the layers
 */
export function cutGraph(
  model: ModelProto & { graph: GraphProto },
  { layers, sizes, keepsAll = false }: CutOptions,
): Cut {
  const source = model.graph;
  const graph = createGraph(source);
  const { tensors } = findResidualStream(graph, "input_ids", resultOf(source));
  const missing = layers.find((layer) => tensors[layer] === undefined);
  if (missing !== undefined)
    throw new JudgeError("usage", {
      found: `layer ${missing}: the model has hidden states 0 to ${tensors.length - 1}`,
    });
  const types = elementTypes(source);
  const added = layers.flatMap((layer) => asOutput(tensors[layer]!, `hidden_states.${layer}`, types));
  const outputs = layers.map((layer) => output(`hidden_states.${layer}`, sizes.hiddenSize));
  const kept = keepsAll
    ? new Set(graph.nodes.keys())
    : ancestorsOf(
        graph,
        layers.map((layer) => tensors[layer]!),
      );
  const presents = presentsOf(source, graph, kept);
  for (const { name } of presents) for (const place of ancestorsOf(graph, [name])) kept.add(place);
  const nodes = [...graph.nodes.filter((_, place) => kept.has(place)), ...added].map(
    renamed(outputs, source),
  );
  const taken = new Set(nodes.flatMap(inputsOf));
  return {
    available: tensors.length,
    graph: {
      ...source,
      node: nodes,
      initializer: source.initializer.filter(({ name }) => taken.has(name ?? "")),
      input: source.input
        .filter(({ name }) => taken.has(name) || name === "attention_mask")
        .map((value) => withCacheSize(value, sizes)),
      output: [...outputs, ...presents],
      valueInfo: [],
    },
  };
}

/** The output that the tokens lead to: not a cache, and not a state that is given besides. */
function resultOf({ output: outputs }: GraphProto): string {
  const names = outputs.map(({ name }) => name);
  const states = names.filter((name) => /^hidden_states\.\d+$/.test(name)).sort(byNumber);
  const found = ["logits", "last_hidden_state"].find((name) => names.includes(name)) ?? states.at(-1);
  if (found !== undefined) return found;
  throw new JudgeError("usage", {
    found: `model.onnx gives ${names.slice(0, 5).join(", ")}`,
    wanted: "logits, last_hidden_state or hidden_states.N",
    remedy: "give an export of a language model or of a text encoder",
  });
}

function byNumber(a: string, b: string): number {
  return Number(a.split(".")[1]) - Number(b.split(".")[1]);
}

/** onnxruntime runs several texts behind a past one by one only: such a model remembers no prefix. */
const withoutPrefix = "GroupQueryAttention";

/** The caches of those blocks whose past is taken. */
function presentsOf(
  { output: outputs }: GraphProto,
  graph: Graph,
  kept: ReadonlySet<number>,
): ValueInfoProto[] {
  const nodes = [...kept].map((place) => graph.nodes[place]!);
  if (nodes.some(({ opType }) => opType === withoutPrefix)) return [];
  const taken = new Set(nodes.flatMap(inputsOf));
  return outputs.filter(({ name }) => {
    const [, block] = /^present\.(\d+)\.(?:key|value)$/.exec(name) ?? [];
    return block !== undefined && taken.has(`past_key_values.${block}.key`);
  });
}

/** A tensor under the name of an output, in float32. */
function asOutput(tensor: string, name: string, types: ReadonlyMap<string, number>): NodeProto[] {
  const isHalf = [float16, bfloat16].includes(types.get(tensor) ?? float32);
  const cast = { opType: "Cast", attribute: [{ name: "to", type: 2, i: float32 }] };
  const same = { opType: "Identity", attribute: [] };
  return [{ ...(isHalf ? cast : same), name: `prefill_judge.${name}`, input: [tensor], output: [name] }];
}

/** A tensor that has an output's name already gets another one. */
function renamed(outputs: readonly ValueInfoProto[], { output: before }: GraphProto) {
  const names = new Set(before.map(({ name }) => name));
  const taken = new Set(outputs.map(({ name }) => name).filter((name) => names.has(name)));
  const other = (name: string) => (taken.has(name) ? `source.${name}` : name);
  return (node: NodeProto): NodeProto => {
    const isAdded = node.name?.startsWith("prefill_judge.") === true;
    return { ...node, input: node.input.map(other), output: isAdded ? node.output : node.output.map(other) };
  };
}

function elementTypes({ valueInfo, output: outputs }: GraphProto): Map<string, number> {
  return new Map(
    [...valueInfo, ...outputs].map(({ name, type }) => [name, type?.tensorType?.elemType ?? float32]),
  );
}

/** Past keys and values [batch, heads, past, size]: an export may leave the sizes open. */
function withCacheSize(value: ValueInfoProto, { cache }: Sizes): ValueInfoProto {
  const tensorType = value.type?.tensorType;
  const dim = tensorType?.shape?.dim;
  if (!value.name.startsWith("past_key_values.") || dim?.length !== 4 || cache === null) return value;
  const [heads, size] = cache;
  const sized = dim.map((each, axis) =>
    axis === 1 ? { dimValue: heads } : axis === 3 ? { dimValue: size } : each,
  );
  return { ...value, type: { ...value.type, tensorType: { ...tensorType, shape: { dim: sized } } } };
}

/** [batch, sequence, hidden] in float32. */
function output(name: string, hiddenSize: number): ValueInfoProto {
  const dim = [{ dimParam: "batch_size" }, { dimParam: "sequence_length" }, { dimValue: hiddenSize }];
  return { name, type: { tensorType: { elemType: float32, shape: { dim } } } };
}
