// One judge: text → view → encoder → head → p_solve. Knows no HTTP and no verdict text; what cannot be judged comes
// back as an abstention, never as an exception, unless it is a bug or the client has left.
import { abortable, withTimeout } from "../abort.js";
import type { Checkpoint } from "../checkpoint/load.js";
import type { Encoder, Truncation, View } from "../encoder/encoder.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { calibrate, probabilities, requiredFeatures } from "../head/head.js";
import { createSimdMultiply } from "../head/simd-multiply.js";
import { matricesOf } from "../head/weights.js";
import type { Envelope } from "../prompt/envelope.js";
import type { JudgedMessage } from "../prompt/judged-text.js";
import { type AbstainReason, abstainReasonOf } from "../verdict/abstention.js";
import type { PrimaryRule } from "../verdict/capability.js";
import type { CustomVerdict } from "../verdict/custom.js";
import type { Escalation } from "../verdict/escalation.js";
import type { Forward, Limits } from "./forward.js";
import { createHealth } from "./health.js";
import { abstained, type CacheResult, type Judgement, type Stages } from "./judgement.js";
import { checkLayers, checkReading, prepareView } from "./prepare.js";
import type { ProbabilityCache, Remembered } from "./probability-cache.js";
import { createProbe } from "./probe.js";
import { runSelftest } from "./selftest.js";

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
  /** what is taken off a request before its text is judged */
  readonly envelopes: readonly Envelope[];
  /** `abstain`: a text that was cut is not judged, since what decides may be in the part that is missing */
  readonly onTruncation: "judge" | "abstain";
  /** null: as the checkpoint says, else `keep` */
  readonly spaces: "single" | "keep" | null;
  readonly message: JudgedMessage;
  /** `off`: raw probabilities are the answer, for routers that calibrate by themselves */
  readonly calibration: "on" | "off";
  /** a name of the encoder's model that is as good as the checkpoint's own */
  readonly acceptEncoder: string | null;
  /** what judges have found out already; shared by all of them */
  readonly cache: ProbabilityCache;
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
  /** told when no answers come out any more, with what stands in the way, and null when they come again */
  readonly onHealth: (fault: JudgeError | null) => void;
}

export interface JudgeOptions {
  /** made when it is needed: a result that is kept needs none */
  readonly signal?: (() => AbortSignal) | undefined;
  /** when the request came, from which its deadline counts; on the judge's clock; absent: now */
  readonly arrivedMs?: number | undefined;
  /** others go first */
  readonly isBulk?: boolean;
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
    | "envelopes"
    | "escalation"
    | "custom"
    | "deadlineMs"
  > {
  /** true once `prepare` has passed, while the encoder is up and answers come out */
  readonly ready: boolean;
  /**
   * What the encoder, which has been started, reads of a text for this judge.
   *
   * @throws JudgeError `checkpoint` when the two do not fit, `config` when max_tokens does not
   */
  view(): View;
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
  judge(texts: readonly (string | null)[], options?: JudgeOptions): Promise<Judgement[]>;
  /** Ends what it does by itself; the encoder goes on. */
  close(): void;
}

export function createJudge(parts: JudgeParts): Judge {
  const { checkpoint, encoder, cache, clock } = parts;
  const { head } = checkpoint;
  const multiply = createSimdMultiply(matricesOf(head));
  let prepared: { readonly forward: Forward; readonly cacheScope: string } | null = null;
  const probe = createProbe({ ...parts, multiply });
  const health = createHealth({ ...parts, probe, onChange: parts.onHealth });

  function byOutput(values: Float64Array): Record<string, number> {
    return Object.fromEntries(head.outputNames.map((name, index) => [name, values[index]!]));
  }

  /** Why a text that was encoded has no probability; null: it has one. */
  function reasonToAbstain({ unreadable, truncated }: Remembered): AbstainReason | null {
    if (unreadable) return "unreadable_text";
    return truncated && parts.onTruncation === "abstain" ? "truncated" : null;
  }

  function judged(found: Remembered, source: CacheResult, milliseconds: Stages): Judgement {
    const { raw: rawValues, tokens, truncated } = found;
    const reason = reasonToAbstain(found);
    if (reason !== null) return { ...abstained(reason), tokens, truncated, milliseconds };
    const named = byOutput(parts.calibration === "on" ? calibrate(head, rawValues) : rawValues);
    return {
      pSolve: named[parts.output]!,
      probabilities: named,
      raw: byOutput(rawValues),
      tokens,
      truncated,
      cache: source,
      abstained: null,
      milliseconds,
    };
  }

  function kept(text: string): Judgement | null {
    const found = prepared && cache.find(prepared.cacheScope, text);
    return found ? judged(found, "hit", { queue: 0, tokenize: 0, prefill: 0, head: 0 }) : null;
  }

  /** @throws the error itself when the client has left: nobody reads an answer */
  function abstention(error: JudgeError, waitedMs: number): Judgement {
    if (error.code === "client_gone") throw error;
    parts.onFault(error);
    health.failed(error);
    return abstained(abstainReasonOf(error), waitedMs);
  }

  /** Goes on when the signal aborts during the text's run: its result is kept. */
  async function judgeText(text: string, limits: Limits): Promise<Judgement> {
    const started = clock();
    try {
      if (prepared === null) throw new JudgeError("encoder_down", "the judge has not been prepared yet");
      const { forward, cacheScope } = prepared;
      const { encoding, isShared, milliseconds } = await forward.encode(text, limits);
      if (encoding instanceof JudgeError) throw encoding;
      const queue = Math.max(0, clock() - started - milliseconds.tokenize - milliseconds.prefill);
      const headStarted = clock();
      const { tokenCount: tokens, truncated, unreadable } = encoding;
      const raw = probabilities(head, encoding.pooled, multiply);
      if (!raw.every(Number.isFinite))
        throw new JudgeError("encoder_error", "the head gave no number for these hidden states");
      const found = { raw, tokens, truncated, unreadable };
      cache.keep(cacheScope, text, found);
      health.answered();
      const stages = { queue, ...milliseconds, head: clock() - headStarted };
      return judged(found, isShared ? "shared" : "miss", stages);
    } catch (error) {
      limits.signal.throwIfAborted();
      return abstention(asJudgeError(error), clock() - started);
    }
  }

  /** Texts that have no result in time abstain, the others have theirs. */
  async function judgeInTime(
    texts: readonly string[],
    { signal, arrivedMs, isBulk = false }: JudgeOptions,
  ): Promise<Judgement[]> {
    const started = clock();
    const judgements: (Judgement | undefined)[] = texts.map(() => undefined);
    const expiresAt = (arrivedMs ?? started) + parts.deadlineMs * texts.length;
    const leftMs = expiresAt - started;
    const late = () => new JudgeError("deadline", `the judge had no result within ${leftMs} ms`);
    try {
      await withTimeout(leftMs, late, signal?.(), (inner) => {
        const limits = { signal: inner, expiresAt, isBulk };
        const judging = texts.map(async (text, place) => {
          judgements[place] = await abortable(judgeText(text, limits), inner);
        });
        return Promise.all(judging);
      });
      return judgements as Judgement[];
    } catch (error) {
      const waited = clock() - started;
      return judgements.map((judgement) => judgement ?? abstention(asJudgeError(error), waited));
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
    envelopes: parts.envelopes,
    escalation: parts.escalation,
    custom: parts.custom,
    deadlineMs: parts.deadlineMs,
    get ready() {
      return prepared !== null && encoder.up && health.isGood;
    },
    view: () => prepareView(parts),
    async prepare() {
      const view = prepareView(parts);
      await checkReading(parts, view);
      await checkLayers(parts, view);
      await runSelftest({ ...parts, multiply }, view);
      const shared = parts.forward(encoder, view);
      shared.want(requiredFeatures(head));
      const cacheScope = JSON.stringify([checkpoint.hash, encoder.facts.hash, view]);
      prepared = { forward: shared, cacheScope };
    },
    async judge(texts, options = {}) {
      const known = texts.map((text) => (text === null ? abstained("no_user_text") : kept(text)));
      const unknown = texts.filter((text, place): text is string => known[place] === null);
      const judgements = unknown.length === 0 ? [] : await judgeInTime(unknown, options);
      let next = 0;
      return known.map((judgement) => judgement ?? judgements[next++]!);
    },
    close: health.close,
  };
}
