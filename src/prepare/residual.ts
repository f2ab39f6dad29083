// Finds the residual stream of a transformer: the one tensor through which all that a block gives goes on to
// the next. By the graph alone, not by names: a tensor that every way from the tokens to the result passes,
// and behind which attention begins.
import { JudgeError } from "../errors.js";
import { type Graph, inputsOf, reachedFrom } from "./graph.js";
import type { NodeProto } from "./onnx-proto.js";

export interface ResidualStream {
  /** hidden_states.k by k: 0 is what the first block takes, the last what comes out behind the last block */
  readonly tensors: readonly string[];
}

/** Attention as one operator. */
const attentionOps = new Set([
  "Attention",
  "MultiHeadAttention",
  "GroupQueryAttention",
  "DecoderMaskedMultiHeadAttention",
  "PackedAttention",
  "PackedMultiHeadAttention",
  "SparseAttention",
  "QAttention",
]);
/** Operators of models whose blocks are not all attention: their states between tokens are not kept here. */
const hybridOps =
  /^(LinearAttention|GatedDeltaNet|CausalConv\w*|SelectiveScan|Mamba\w*|Loop|Scan|LSTM|GRU|RNN)$/;
/** A sum, and its norm: the sum is the fourth output. */
const skipNorms = new Set([
  "SkipLayerNormalization",
  "SkipSimplifiedLayerNormalization",
  "EmbedLayerNormalization",
]);

/**
 * @param tokens the name of the input of token ids
 * @param result the name of the output that the tokens lead to, such as logits
 * @throws JudgeError `usage` naming what was looked for and what is nearest to it
 */
export function findResidualStream(graph: Graph, tokens: string, result: string): ResidualStream {
  const way = onTheWay(graph, tokens, result);
  refuseHybrid(way.map((place) => graph.nodes[place]!));
  const cuts = cutsOf(graph, way);
  const values = new Set(reachedFrom(graph, tokens).flatMap((place) => graph.nodes[place]!.output));
  const starts = cuts.filter((cut, index) =>
    between(way, cut, cuts[index + 1]).some((place) => isAttention(graph.nodes[place]!, values)),
  );
  const last = cuts.at(starts.length === 0 ? -1 : lastState(graph, cuts, result));
  if (starts.length === 0 || last === undefined) throw notFound(graph, cuts);
  return { tensors: [...starts.map((place) => stateOf(graph, place)), normedState(graph, last)] };
}

/** The places of the nodes that lie on a way from the tokens' values to the result. */
function onTheWay(graph: Graph, tokens: string, result: string): number[] {
  const { nodes, producers } = graph;
  const reached = reachedFrom(graph, tokens);
  const needed = new Set<string>([result]);
  const way: number[] = [];
  for (const place of reached.toReversed()) {
    const node = nodes[place]!;
    if (!node.output.some((name) => needed.has(name))) continue;
    way.push(place);
    for (const name of inputsOf(node)) needed.add(name);
  }
  if (!producers.has(result) || way.length === 0)
    throw new JudgeError("usage", {
      found: `nothing in model.onnx leads from ${tokens} to ${result}`,
      remedy: "give an export of a language model or of a text encoder",
    });
  return way.toReversed();
}

/** Those nodes of the way that every way passes: no tensor goes past them. */
function cutsOf({ nodes, producers }: Graph, way: readonly number[]): number[] {
  const order = new Map(way.map((place, index) => [place, index]));
  /** the farthest node that takes of each node on the way */
  const farthest = new Array<number>(way.length).fill(-1);
  way.forEach((place, index) => {
    for (const name of inputsOf(nodes[place]!)) {
      const from = order.get(producers.get(name) ?? -1);
      if (from !== undefined) farthest[from] = Math.max(farthest[from]!, index);
    }
  });
  let open = 0;
  return way.filter((_, index) => {
    const isCut = open <= index;
    open = Math.max(open, farthest[index]!);
    return isCut;
  });
}

/** The nodes between two cuts; behind the last one, all. */
function between(way: readonly number[], cut: number, next: number | undefined): number[] {
  return way.filter((place) => place > cut && (next === undefined || place <= next));
}

/** Whether tokens look at each other there: a product of two tensors that both depend on the text. */
function isAttention({ opType, input }: NodeProto, values: ReadonlySet<string>): boolean {
  if (attentionOps.has(opType)) return true;
  const isProduct = opType === "MatMul" || opType === "Einsum";
  return isProduct && input.slice(0, 2).every((name) => values.has(name));
}

function refuseHybrid(nodes: readonly NodeProto[]): void {
  const found = nodes.find(({ opType }) => hybridOps.test(opType));
  if (found === undefined) return;
  throw new JudgeError("usage", {
    found: `model.onnx has ${found.opType}: a hybrid model, whose blocks are not all attention`,
    remedy: "serve it by vLLM (docs/vllm.md), or take a model with attention in every block",
  });
}

/** The cut that gives the last hidden state: before a vocabulary's product, where there is one. */
function lastState({ nodes, producers }: Graph, cuts: readonly number[], result: string): number {
  const isHead = (place: number) => /^(MatMul|MatMulNBits|Gemm|FusedMatMul)$/.test(nodes[place]!.opType);
  let index = cuts.length - 1;
  if (producers.get(result) === cuts[index] && result !== "last_hidden_state") {
    while (index > 0 && !isHead(cuts[index]!)) index--;
    index--;
  }
  return index;
}

/** The sum where a node gives a sum and its norm, else its only output. */
function stateOf({ nodes }: Graph, place: number): string {
  const { opType, output } = nodes[place]!;
  const sum = skipNorms.has(opType) ? (output[3] ?? "") : "";
  return sum === "" ? output[0]! : sum;
}

/** The last state is normalised, as Transformers' last one is. */
function normedState({ nodes }: Graph, place: number): string {
  return nodes[place]!.output[0]!;
}

function notFound({ nodes }: Graph, cuts: readonly number[]): JudgeError {
  const nearest = cuts
    .slice(-5)
    .map((place) => `${nodes[place]!.output[0]} (${nodes[place]!.opType})`)
    .join(", ");
  return new JudgeError("usage", {
    found: "model.onnx has no residual stream: no tensor through which all ways go, with attention behind it",
    wanted: `the blocks of a transformer; all ways go through ${nearest || "nothing"}`,
    remedy: "give an export of a decoder with KV cache, or of a BERT-style encoder",
  });
}
