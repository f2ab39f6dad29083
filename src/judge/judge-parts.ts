// What a judge is given, what it is asked, and what it gives; judge.ts makes one.

import type { Checkpoint } from "../checkpoint/load.js";
import type { Encoder } from "../encoder/encoder.js";
import type { SpaceRule, Truncation, View } from "../encoder/view.js";
import type { JudgeError } from "../errors.js";
import type { Envelope } from "../prompt/envelope.js";
import type { JudgedMessage } from "../prompt/judged-text.js";
import type { Judgement } from "./judgement.js";
import type { ProbabilityCache } from "./probability-cache.js";
import type { SharedRun } from "./shared-runs.js";

/** `abstain`: a text that was cut is not judged, since what decides may be in the part that is missing. */
export const truncatedRules = ["judge", "abstain"] as const;
/** `off`: raw probabilities are the answer, for routers that calibrate by themselves. */
export const calibrations = ["on", "off"] as const;

export interface JudgeParts {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly checkpoint: Checkpoint;
  readonly encoder: Encoder;
  /** the head output that is p_solve */
  readonly output: string;
  /** null: as the checkpoint says, else as much as the encoder takes, at most 2,048 */
  readonly maxTokens: number | null;
  /** null: as the checkpoint says, else `middle` */
  readonly truncation: Truncation | null;
  /** what is taken off a request before its text is judged */
  readonly envelopes: readonly Envelope[];
  readonly onTruncation: (typeof truncatedRules)[number];
  /** null: as the checkpoint says, else `keep` */
  readonly spaces: SpaceRule | null;
  readonly message: JudgedMessage;
  readonly calibration: (typeof calibrations)[number];
  /** a name of the encoder's model that is as good as the checkpoint's own */
  readonly acceptEncoder: string | null;
  /** what judges have found out already; shared by all of them */
  readonly cache: ProbabilityCache;
  /** the run shared by the judges of one encoder and view */
  readonly sharedRuns: (encoder: Encoder, view: View) => SharedRun;
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
    "id" | "aliases" | "checkpoint" | "encoder" | "output" | "message" | "envelopes" | "deadlineMs"
  > {
  /** true once `prepare` has passed, while the encoder is up and answers come out */
  readonly ready: boolean;
  /** why it is not ready; null while it is */
  readonly fault: JudgeError | null;
  /**
   * What the encoder, which has been started, reads of a text for this judge.
   * @throws JudgeError `checkpoint` when the two do not fit, `config` when max_tokens does not
   */
  view(): View;
  /**
   * Checks checkpoint against encoder and recomputes the selftest. The encoder has been started.
   * @throws JudgeError `checkpoint` naming both sides; `encoder_down` when the encoder is
   */
  prepare(): Promise<void>;
  /**
   * Judges texts together; null becomes an abstention. The deadline counts once per text.
   * @throws JudgeError `client_gone` when `signal` aborts
   */
  judge(texts: readonly (string | null)[], options?: JudgeOptions): Promise<Judgement[]>;
  /** Ends what it does by itself; the encoder goes on. */
  close(): void;
}
