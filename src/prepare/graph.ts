// A graph by its tensors: who makes them, who takes them, and what lies on the way from the tokens.
import { JudgeError } from "../errors.js";
import type { AttributeProto, GraphProto, NodeProto } from "./onnx-proto.js";

export interface Graph {
  /** in an order in which each stands behind all that it takes from */
  readonly nodes: readonly NodeProto[];
  /** the place of the node that makes a tensor */
  readonly producers: ReadonlyMap<string, number>;
  readonly isWeight: (tensor: string) => boolean;
}

/** @throws JudgeError `usage` for a graph that goes in a circle, or makes a tensor twice */
export function createGraph({ node: nodes, initializer }: GraphProto): Graph {
  const weights = new Set(initializer.map(({ name }) => name));
  const ordered = inOrder(nodes);
  const producers = new Map<string, number>();
  ordered.forEach(({ output }, place) => {
    for (const tensor of output) {
      if (tensor === "") continue;
      if (producers.has(tensor)) throw broken(`makes ${tensor} twice`);
      producers.set(tensor, place);
    }
  });
  return { nodes: ordered, producers, isWeight: (tensor) => weights.has(tensor) };
}

/** What a node takes, its inner graphs included. */
export function inputsOf({ input, attribute }: NodeProto): string[] {
  const inner = attribute.flatMap(({ g, graphs }: AttributeProto) => [...(g ? [g] : []), ...(graphs ?? [])]);
  return [...input, ...inner.flatMap(({ node }) => node.flatMap(inputsOf))].filter((name) => name !== "");
}

/** The places of all nodes that the tensors depend on. */
export function ancestorsOf({ nodes, producers }: Graph, tensors: readonly string[]): Set<number> {
  const found = new Set<number>();
  const waiting = [...tensors];
  for (let tensor = waiting.pop(); tensor !== undefined; tensor = waiting.pop()) {
    const place = producers.get(tensor);
    if (place === undefined || found.has(place)) continue;
    found.add(place);
    waiting.push(...inputsOf(nodes[place]!));
  }
  return found;
}

/** Nodes that look at a tensor's shape and at none of its values. */
const shapeOps = new Set(["Shape", "Size"]);

/** The places of all nodes that a tensor's values reach, in order. */
export function reachedFrom({ nodes }: Graph, tensor: string): number[] {
  const tensors = new Set([tensor]);
  return nodes.flatMap((node, place) => {
    if (shapeOps.has(node.opType) || !inputsOf(node).some((name) => tensors.has(name))) return [];
    for (const name of node.output) tensors.add(name);
    return [place];
  });
}

/** Kahn's order; nodes that are in order already stay as they are. */
function inOrder(nodes: readonly NodeProto[]): NodeProto[] {
  const made = new Map(nodes.flatMap((node, place) => node.output.map((name) => [name, place] as const)));
  const ordered: NodeProto[] = [];
  const state = new Uint8Array(nodes.length);
  for (let start = 0; start < nodes.length; start++) {
    const stack = [start];
    while (stack.length > 0) {
      const place = stack.at(-1)!;
      if (state[place] === 2) {
        stack.pop();
        continue;
      }
      if (state[place] === 1) {
        state[place] = 2;
        ordered.push(nodes[place]!);
        stack.pop();
        continue;
      }
      state[place] = 1;
      for (const name of inputsOf(nodes[place]!)) {
        const before = made.get(name);
        if (before === undefined || state[before] === 2) continue;
        if (state[before] === 1) throw broken("goes in a circle");
        stack.push(before);
      }
    }
  }
  return ordered;
}

function broken(what: string): JudgeError {
  return new JudgeError("usage", {
    found: `the graph of model.onnx ${what}: it is damaged`,
    remedy: "fetch it again from where it came",
  });
}
