// One judge: text → view → encoder → head → p_solve. Knows no HTTP and no verdict text; what cannot be judged
// comes back as an abstention, never as an exception, unless it is a bug or the client has left.
import { abortable, withTimeout } from "../abort.js";
import type { View } from "../encoder/view.js";
import { asJudgeError, JudgeError } from "../errors.js";
import { calibrate, probabilities, requiredFeatures } from "../head/head.js";
import { createSimdMultiply } from "../head/simd-multiply.js";
import { matricesOf } from "../head/weights.js";
import { type AbstainReason, abstainReasonOf } from "./abstention-reasons.js";
import { createHealth } from "./health.js";
import type { Judge, JudgeOptions, JudgeParts } from "./judge-parts.js";
import { abstained, type CacheResult, type Judgement, type Stages } from "./judgement.js";
import { checkLayers, checkReading, prepareView } from "./prepare.js";
import type { Remembered } from "./probability-cache.js";
import { createProbe } from "./probe.js";
import { runSelftest } from "./selftest.js";
import type { Limits, SharedRun } from "./shared-runs.js";

export function createJudge(parts: JudgeParts): Judge {
  const { checkpoint, encoder, cache, clock } = parts;
  const { head } = checkpoint;
  const multiply = createSimdMultiply(matricesOf(head));
  let prepared: { readonly run: SharedRun; readonly cacheScope: () => string } | null = null;
  let endProof = () => {};
  const probe = createProbe({ ...parts, multiply });
  const health = createHealth({ ...parts, probe, onChange: parts.onHealth });

  function byOutput(values: Float64Array): Record<string, number> {
    return Object.fromEntries(head.outputNames.map((name, index) => [name, values[index]!]));
  }

  function notPrepared(): JudgeError {
    return encoder.fault ?? new JudgeError("encoder_down", { found: "the judge has not been prepared yet" });
  }

  /** All that a result depends on beside its text. */
  function scopeOf(view: View): () => string {
    let source: string | null = null;
    let scope = "";
    return () => {
      if (source !== encoder.scope) {
        source = encoder.scope;
        scope = JSON.stringify([checkpoint.hash, source, view]);
      }
      return scope;
    };
  }

  /** @throws JudgeError naming the judge and its checkpoint */
  async function checkedView(): Promise<View> {
    try {
      const view = prepareView(parts);
      await checkReading(parts, view);
      checkLayers(parts);
      endProof = await encoder.admit((source) => runSelftest({ ...parts, encoder: source, multiply }, view));
      return view;
    } catch (error) {
      const fault = asJudgeError(error);
      if (fault.code !== "checkpoint") throw error;
      throw fault.within(`judge ${parts.id}: checkpoint ${checkpoint.path}`);
    }
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
      error: null,
      milliseconds,
    };
  }

  function kept(text: string): Judgement | null {
    const found = prepared && cache.find(prepared.cacheScope(), text);
    return found ? judged(found, "hit", { queue: 0, tokenize: 0, prefill: 0, head: 0 }) : null;
  }

  /** @throws the error itself when the client has left: nobody reads an answer */
  function abstention(error: JudgeError, waitedMs: number): Judgement {
    if (error.code === "client_gone") throw error;
    parts.onFault(error);
    health.failed(error);
    return abstained(abstainReasonOf(error), { error, waitedMs });
  }

  /** Goes on when the signal aborts during the text's run: its result is kept. */
  async function judgeText(text: string, limits: Limits): Promise<Judgement> {
    const started = clock();
    try {
      if (prepared === null) throw notPrepared();
      const { run, cacheScope } = prepared;
      const scope = cacheScope();
      const { encoding, isShared, milliseconds } = await run.encode(text, limits);
      if (encoding instanceof JudgeError) throw encoding;
      const queue = Math.max(0, clock() - started - milliseconds.tokenize - milliseconds.prefill);
      const headStarted = clock();
      const { tokenCount: tokens, truncated, unreadable } = encoding;
      const raw = probabilities(head, encoding.pooled, multiply);
      if (!raw.every(Number.isFinite))
        throw new JudgeError("encoder_error", { found: "the head gave no number for these hidden states" });
      const found = { raw, tokens, truncated, unreadable };
      // a source that changed meanwhile may have given it or not
      if (scope === cacheScope()) cache.keep(scope, text, found);
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
    const leftMs = Math.max(0, Math.round(expiresAt - started));
    const late = () => new JudgeError("deadline", { found: `the judge had no result within ${leftMs} ms` });
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
    message: parts.message,
    envelopes: parts.envelopes,
    deadlineMs: parts.deadlineMs,
    get ready() {
      return prepared !== null && encoder.up && health.isGood;
    },
    get fault() {
      return prepared === null ? notPrepared() : (encoder.fault ?? health.fault);
    },
    view: () => prepareView(parts),
    async prepare() {
      const view = await checkedView();
      const shared = parts.sharedRuns(encoder, view);
      shared.want(requiredFeatures(head));
      prepared = { run: shared, cacheScope: scopeOf(view) };
    },
    async judge(texts, options = {}) {
      const known = texts.map((text) => (text === null ? abstained("no_user_text") : kept(text)));
      const unknown = texts.filter((text, place): text is string => text !== null && known[place] === null);
      const judgements = unknown.length === 0 ? [] : await judgeInTime(unknown, options);
      let next = 0;
      return known.map((judgement) => judgement ?? judgements[next++]!);
    },
    close() {
      endProof();
      health.close();
    },
  };
}
