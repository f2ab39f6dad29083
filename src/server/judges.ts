// Puts judges together, on encoders that run already or on new ones. Names no concrete adapter.
import type { VerdictSettings } from "../answer/verdict-settings.js";
import { type Checkpoint, loadCheckpoint } from "../checkpoint/load.js";
import { type Config, usedEncoders } from "../config/config.js";
import type { EncoderConfig } from "../config/schema.js";
import { hashEncoderFolder } from "../encoder/folder.js";
import { asJudgeError, JudgeError, withoutPaths } from "../errors.js";
import { abstainReasons } from "../judge/abstention-reasons.js";
import { createProbabilityCache, type ProbabilityCache } from "../judge/probability-cache.js";
import { createRegistry, type Registry } from "../judge/registry.js";
import { createSharedRuns } from "../judge/shared-runs.js";
import { clock, composeJudge, logReady, verdictSettings } from "./compose-judge.js";
import { type BuiltEncoder, type EncoderRuntime, encoderRuntime, observedEncoder } from "./encoders.js";
import { type LoadLimits, loadStep } from "./load-step.js";
import type { Observers } from "./observers.js";
import { createStart, startLate } from "./start-judges.js";

/** Judges that come into service together, on encoders of their own or taken over. */
export interface Judges {
  /** what they were made from */
  readonly config: Config;
  readonly registry: Registry<VerdictSettings>;
  readonly encoders: readonly BuiltEncoder[];
  /** true once `start` has passed */
  readonly started: boolean;
  /**
   * Starts the encoders that do not run yet and passes every judge's selftest.
   * @throws JudgeError with the first fault, or the first step that takes too long, one line; the signal's
   *   reason
   */
  start(how?: StartOptions): Promise<void>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly signal?: AbortSignal;
  /** whether judges may come later whose encoder is down: they are started when it is up */
  readonly isPatient?: boolean;
}

/** What judges can be built on. */
export interface Given {
  /** started encoders, taken over where configuration and files are still the same */
  readonly running?: readonly BuiltEncoder[];
  /** checkpoints by judge id, for who had to read them before; they are not read again */
  readonly loaded?: ReadonlyMap<string, Checkpoint>;
  /** outlives the judges: what it holds is found by the hashes of what made it */
  readonly cache?: ProbabilityCache;
  /** aborts when nobody wants them any more */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Loads the checkpoints and builds judges.
 * @throws JudgeError `checkpoint` or `config`, or of a step that takes too long; the signal's reason
 */
export async function composeJudges(
  config: Config,
  observers: Observers,
  { running = [], loaded = new Map(), cache = createProbabilityCache(0), signal }: Given = {},
): Promise<Judges> {
  const { loadTimeoutMs: timeoutMs } = config.runtime;
  const limits: LoadLimits = { timeoutMs, signal };
  const checkpoints = await Promise.all(
    config.judges.map(({ id, checkpoint: path }) => {
      const step = { code: "checkpoint", late: `judges.${id}: the checkpoint has not been read` } as const;
      return loaded.get(id) ?? loadStep(step, limits, () => loadCheckpoint(path));
    }),
  );
  const runtime = encoderRuntime(config.runtime);
  const used = usedEncoders(config);
  const encoders = await Promise.all(
    used.map(async (encoder) => {
      const step = { code: "encoder", late: `encoder ${encoder.id}: the files have not been read` } as const;
      const found = await loadStep(step, limits, () => takeOver(running, encoder, runtime));
      return found ?? { encoder: observedEncoder(encoder, runtime, observers), config: encoder, runtime };
    }),
  );
  const fresh = encoders.filter((built) => !running.includes(built));
  const sharedRuns = createSharedRuns();
  const served = config.judges.map((judge, index) => {
    const { encoder } = encoders.find((built) => built.config.id === judge.encoder)!;
    const checkpoint = checkpoints[index]!;
    return {
      judge: composeJudge(judge, checkpoint, { encoder, sharedRuns, cache }, config, observers.log),
      verdict: verdictSettings(judge, checkpoint),
    };
  });
  const judges = served.map(({ judge }) => judge);
  const [first, ...rest] = served;
  if (first === undefined) throw new JudgeError("config", { found: "no judge is configured" });
  observers.metrics.expect({
    judges: judges.map(({ id, envelopes }) => ({ id, clients: envelopes.map(({ client }) => client) })),
    encoders: used.map(({ id }) => id),
    reasons: abstainReasons,
  });
  let hasStarted = false;
  const closing = new AbortController();
  const startOn = createStart({ judges, fresh, timeoutMs });
  return {
    config,
    get started() {
      return hasStarted;
    },
    registry: createRegistry([first, ...rest], config.defaultJudge),
    encoders,
    async start({ signal, isPatient = false } = {}) {
      const started = clock();
      const late: BuiltEncoder[] = [];
      await Promise.all(
        encoders.map((built) =>
          startOn(built, signal).catch((error) => {
            if (!isPatient || asJudgeError(error).code !== "encoder_down") throw error;
            late.push(built);
          }),
        ),
      );
      hasStarted = true;
      const ready = (built: BuiltEncoder) => {
        const own = judges.filter(({ encoder }) => encoder === built.encoder);
        for (const judge of own) logReady(judge, clock() - started, observers.log);
      };
      for (const built of encoders.filter((each) => !late.includes(each))) ready(built);
      for (const built of late)
        void startLate({
          start: () => startOn(built, closing.signal),
          onFault(reason) {
            observers.log.encoderAwaited({ encoder: built.config.id, reason: withoutPaths(reason) });
          },
          signal: closing.signal,
        }).then((isStarted) => isStarted && ready(built));
    },
    async close() {
      closing.abort(new JudgeError("encoder_down", { found: "the judges are not in service any more" }));
      for (const judge of judges) judge.close();
      await Promise.all(encoders.map(({ encoder }) => encoder.close()));
    },
  };
}

/** The running encoder that `config` describes, unless one of its files has changed. */
async function takeOver(
  running: readonly BuiltEncoder[],
  config: EncoderConfig,
  runtime: EncoderRuntime,
): Promise<BuiltEncoder | null> {
  const wanted = JSON.stringify([config, runtime]);
  const found = running.find((built) => JSON.stringify([built.config, built.runtime]) === wanted);
  // servers that are down may come back as others that are meant: a new start decides, not what was proved
  if (found === undefined || (config.type === "vllm" && !found.encoder.up)) return null;
  const files = await hashEncoderFolder(config.path);
  return JSON.stringify(files) === JSON.stringify(found.encoder.facts.files) ? found : null;
}
