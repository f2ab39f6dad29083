// Who takes part: the two embedded judges, and the peers, each with what a right reply of it looks like.
import type { PeerKind } from "./peer-process.js";

export interface Subject {
  readonly name: string;
  /** null: this server */
  readonly peer: PeerKind | null;
  readonly judge: string;
  /** requests of one round: by one client, and by several */
  readonly alone: number;
  readonly together: number;
  /** Whether the reply is a result. @throws Error when it is not even well formed */
  isResult(reply: string): boolean;
}

export const clients = 8;

interface OwnReply {
  readonly prefill_judge: { readonly abstained: string | null; readonly cached: boolean };
}
interface VectorReply {
  readonly tokens: number;
  readonly vector: readonly number[];
}

function isJudged(reply: string): boolean {
  const { abstained, cached } = (JSON.parse(reply) as OwnReply).prefill_judge;
  if (cached) throw new Error("a prompt was asked twice: the cache answered");
  return abstained === null;
}

function isVector(reply: string): boolean {
  const { tokens, vector } = JSON.parse(reply) as VectorReply;
  return tokens > 0 && vector.length === 8 && vector.every(Number.isFinite);
}

/** A generated verdict that a router could read: all four keys, and a probability. */
function isVerdict(reply: string): boolean {
  const { content } = JSON.parse(reply) as { content: string };
  try {
    const verdict = JSON.parse(content) as Record<string, unknown>;
    const { crux, primary_rule: rule, capability_boundary: boundary, p_solve: pSolve } = verdict;
    const isProbability = typeof pSolve === "number" && pSolve >= 0 && pSolve <= 1;
    return isProbability && [crux, rule, boundary].every((value) => typeof value === "string");
  } catch {
    return false;
  }
}

const own = { peer: null, alone: 12, together: 32, isResult: isJudged } as const;
export const subjects = {
  judge: { ...own, name: "prefill-judge", judge: "prefill-judge" },
  fast: { ...own, name: "prefill-judge-fast", judge: "prefill-judge-fast" },
  eager: {
    name: "Transformers, eager, whole SmolLM2",
    peer: "eager",
    judge: "smollm2",
    alone: 12,
    together: 32,
    isResult: isVector,
  },
  sentences: {
    name: "sentence-transformers, all-MiniLM-L6-v2",
    peer: "sentences",
    judge: "minilm",
    alone: 12,
    together: 32,
    isResult: isVector,
  },
  generative: {
    name: "llama.cpp, SmolLM2 writes the verdict",
    peer: "generative",
    judge: "smollm2",
    alone: 4,
    together: 8,
    isResult: isVerdict,
  },
} as const satisfies Record<string, Subject>;

export type SubjectId = keyof typeof subjects;

export interface Comparison {
  readonly own: SubjectId;
  readonly peer: SubjectId;
  /**
   * what the peer's p50 divided by ours should reach, and our throughput divided by the peer's; null: none is
   * promised
   */
  readonly p50: number | null;
  readonly throughput: number | null;
}

export const comparisons: readonly Comparison[] = [
  { own: "judge", peer: "eager", p50: 3, throughput: 3 },
  { own: "judge", peer: "generative", p50: 20, throughput: null },
  { own: "fast", peer: "sentences", p50: null, throughput: null },
  { own: "fast", peer: "generative", p50: null, throughput: null },
];
