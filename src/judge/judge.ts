// One judge: text → view → encoder → head → p_solve. Knows no HTTP and no verdict text; what cannot be judged comes
// back as an abstention, never as an exception, unless it is a bug or the client has left.
import type { Checkpoint } from "../checkpoint/load.js";
import type { Encoder, Encoding, Truncation, View } from "../encoder/encoder.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { calibrate, probabilities, requiredFeatures } from "../head/head.js";
import type { JudgedMessage } from "../prompt/judged-text.js";
import { type AbstainReason, abstainReasonOf } from "../verdict/abstention.js";
import type { PrimaryRule } from "../verdict/capability.js";
import type { CustomVerdict } from "../verdict/custom.js";
import type { Escalation } from "../verdict/escalation.js";
import { withDeadline } from "./deadline.js";
import type { Forward } from "./forward.js";
import { prepareView, runSelftest } from "./prepare.js";

export interface JudgeParts {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly checkpoint: Checkpoint;
  readonly encoder: Encoder;
  /** the head output that is p_solve */
  readonly output: string;
  readonly primaryRule: PrimaryRule;
  /** null: as the checkpoint says, else as much as the encoder takes, at most 2,048 */
  readonly maxTokens: number | null;
  /** null: as the checkpoint says, else `middle` */
  readonly truncation: Truncation | null;
  readonly message: JudgedMessage;
  /** `off`: raw probabilities are the answer, for routers that calibrate by themselves */
  readonly calibration: "on" | "off";
  /** a name of the encoder's model that is as good as the checkpoint's own */
  readonly acceptEncoder: string | null;
  /** what it answers to escalation requests */
  readonly escalation: Escalation;
  /** null: no answers in custom mode */
  readonly custom: CustomVerdict | null;
  /** the forward shared by the judges of one encoder and view */
  readonly forward: (encoder: Encoder, view: View) => Forward;
  readonly deadlineMs: number;
  /** milliseconds, monotonic */
  readonly clock: () => number;
  /** told of every error behind an abstention */
  readonly onFault: (error: JudgeError) => void;
}

/** Stages of one judgement, in milliseconds; `queue` is waiting and transport. */
export interface Stages {
  readonly queue: number;
  readonly tokenize: number;
  readonly prefill: number;
  readonly head: number;
}

export interface Judgement {
  /** null when abstained */
  readonly pSolve: number | null;
  /** by output name; empty when abstained */
  readonly probabilities: Readonly<Record<string, number>>;
  /** the same before calibration */
  readonly raw: Readonly<Record<string, number>>;
  readonly tokens: number;
  readonly truncated: boolean;
  readonly cached: boolean;
  readonly abstained: AbstainReason | null;
  readonly milliseconds: Stages;
}

export interface Judge
  extends Pick<
    JudgeParts,
    | "id"
    | "aliases"
    | "checkpoint"
    | "encoder"
    | "output"
    | "primaryRule"
    | "message"
    | "escalation"
    | "custom"
  > {
  /** true once `prepare` has passed and while the encoder is up */
  readonly ready: boolean;
  /**
   * Checks checkpoint against encoder and recomputes the selftest. The encoder has been started.
   *
   * @throws JudgeError `checkpoint` naming both sides
   */
  prepare(): Promise<void>;
  /**
   * Judges texts together; one abstention per text that cannot be judged, null among them. The deadline counts once
   * per text.
   *
   * @throws JudgeError `client_gone` when `signal` aborts
   */
  judge(texts: readonly (string | null)[], signal?: AbortSignal): Promise<Judgement[]>;
}

export function createJudge(parts: JudgeParts): Judge {
  const { checkpoint, encoder, clock } = parts;
  let forward: Forward | null = null;

  function judged(encoding: Encoding, waited: Omit<Stages, "head">): Judgement {
    const started = clock();
    const { head } = checkpoint;
    const rawValues = probabilities(head, encoding.pooled);
    const byName = (values: Float64Array) =>
      Object.fromEntries(head.outputNames.map((name, index) => [name, values[index]!]));
    const named = byName(parts.calibration === "on" ? calibrate(head, rawValues) : rawValues);
    return {
      pSolve: named[parts.output]!,
      probabilities: named,
      raw: byName(rawValues),
      tokens: encoding.tokenCount,
      truncated: encoding.truncated,
      cached: false,
      abstained: null,
      milliseconds: { ...waited, head: clock() - started },
    };
  }

  /** @throws the error itself when the client has left: nobody reads an answer */
  function abstention(error: JudgeError, waitedMs: number): Judgement {
    if (error.code === "client_gone") throw error;
    parts.onFault(error);
    return abstained(abstainReasonOf(error), waitedMs);
  }

  async function judgeBatch(texts: readonly string[], signal: AbortSignal): Promise<Judgement[]> {
    if (forward === null) throw new JudgeError("encoder_down", "the judge has not been prepared yet");
    const started = clock();
    const encoded = await forward.encode(texts, signal);
    const waited = clock() - started;
    return encoded.map(({ encoding, milliseconds }) => {
      if (encoding instanceof JudgeError) return abstention(encoding, clock() - started);
      const queue = Math.max(0, waited - milliseconds.tokenize - milliseconds.prefill);
      try {
        return judged(encoding, { queue, ...milliseconds });
      } catch (error) {
        return abstention(asJudgeError(error), clock() - started);
      }
    });
  }

  async function judgeInTime(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<Judgement[]> {
    const started = clock();
    try {
      const timeoutMs = parts.deadlineMs * texts.length;
      return await withDeadline(timeoutMs, signal, (inner) => judgeBatch(texts, inner));
    } catch (error) {
      const waited = clock() - started;
      return texts.map(() => abstention(asJudgeError(error), waited));
    }
  }

  return {
    id: parts.id,
    aliases: parts.aliases,
    checkpoint,
    encoder,
    output: parts.output,
    primaryRule: parts.primaryRule,
    message: parts.message,
    escalation: parts.escalation,
    custom: parts.custom,
    get ready() {
      return forward !== null && encoder.up;
    },
    async prepare() {
      const view = prepareView(parts);
      await runSelftest(parts, view);
      const shared = parts.forward(encoder, view);
      shared.want(requiredFeatures(checkpoint.head));
      forward = shared;
    },
    async judge(texts, signal) {
      const readable = texts.filter((text) => text !== null);
      const judgements = readable.length === 0 ? [] : await judgeInTime(readable, signal);
      let next = 0;
      return texts.map((text) => (text === null ? abstained("no_user_text") : judgements[next++]!));
    },
  };
}

/** What is answered instead of a probability. */
export function abstained(reason: AbstainReason, waitedMs = 0): Judgement {
  return {
    pSolve: null,
    probabilities: {},
    raw: {},
    tokens: 0,
    truncated: false,
    cached: false,
    abstained: reason,
    milliseconds: { queue: waitedMs, tokenize: 0, prefill: 0, head: 0 },
  };
}
