// The servers of one encoder: which of them is asked, and what their list comes to.
import { abortable } from "../../abort.js";
import { asJudgeError, JudgeError } from "../../errors.js";
import type { WantedFeatures } from "../../features/pooled.js";
import type { Client } from "./client.js";
import type { HiddenStates } from "./hidden-states.js";
import { askInTurn } from "./in-turn.js";
import type { Outcome } from "./prefill.js";
import type { VllmServer } from "./server.js";
import { replyLate, ServerLost, serverChanged } from "./server-faults.js";

export interface ServersParts {
  readonly servers: readonly VllmServer[];
  readonly prefill: (
    client: Client,
    ids: readonly number[],
    wanted: WantedFeatures,
    signal: AbortSignal,
  ) => Promise<Outcome>;
  /** whether a second server is asked when the first is slower than usual */
  readonly hedge: boolean;
}

export interface Servers {
  readonly isUp: boolean;
  /** why none serves; null where one does */
  readonly fault: JudgeError | null;
  /** the fingerprints of those that serve, or that last served */
  readonly fingerprints: string;
  /**
   * Waits for a server that is being proved where none serves.
   * @throws JudgeError `encoder_down` when none does then; `signal.reason`
   */
  atHand(signal: AbortSignal): Promise<void>;
  /**
   * One prefill on a server that serves.
   * @param expiresAt when nobody waits any more, on performance.now()'s clock
   * @throws JudgeError `encoder_down` when none answers; `overloaded` when all that answer are;
   *   `encoder_error` for what a server refuses; `signal.reason` when aborted
   */
  prefill(
    ids: readonly number[],
    wanted: WantedFeatures,
    how: { readonly signal: AbortSignal; readonly expiresAt: () => number },
  ): Promise<HiddenStates>;
}

export function createServers({ servers, prefill, hedge }: ServersParts): Servers {
  /** the server that answered last is asked first */
  let preferred = 0;
  let fingerprints = "";

  /** Those that serve, in the order in which they are asked. */
  function inOrder(): VllmServer[] {
    return [...servers.slice(preferred), ...servers.slice(0, preferred)].filter(({ isServing }) => isServing);
  }

  /** An error of the whole list. */
  function down(): JudgeError {
    const faults = servers.flatMap(({ fault }) => fault ?? []);
    const [first] = faults;
    if (first === undefined)
      return new JudgeError("encoder_down", { found: "no vLLM server has answered yet" });
    if (servers.length === 1) return first.withCode("encoder_down");
    const found = [...new Set(faults.map(({ finding }) => finding))].join("; ");
    return new JudgeError("encoder_down", { found, remedy: "see the log, which has a line for each server" });
  }

  async function attempt(
    server: VllmServer,
    ids: readonly number[],
    wanted: WantedFeatures,
    signal: AbortSignal,
  ): Promise<HiddenStates> {
    const started = performance.now();
    try {
      const { states, fingerprint } = await prefill(server.client, ids, wanted, signal);
      if (fingerprint !== server.fingerprint) throw serverChanged();
      server.answered(performance.now() - started);
      preferred = servers.indexOf(server);
      return states;
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof ServerLost) server.lost(error);
      else if (asJudgeError(error).code === "encoder_down") server.failed(asJudgeError(error));
      throw error;
    }
  }

  /**
   * Waits for a server that is being proved, at the start or after it was lost; not for one that hangs.
   * @returns whether there was one
   */
  async function settled(signal: AbortSignal): Promise<boolean> {
    const looks = servers.flatMap(({ isServing, looking, fault }) => {
      const isExpected = !isServing && (fault === null || fault instanceof ServerLost);
      return isExpected ? (looking ?? []) : [];
    });
    if (looks.length > 0) await abortable(Promise.race(looks), signal);
    return looks.length > 0;
  }

  async function atHand(signal: AbortSignal): Promise<void> {
    if (inOrder().length === 0) await settled(signal);
    if (inOrder().length === 0) throw down();
  }

  return {
    get isUp() {
      return servers.some(({ isServing }) => isServing);
    },
    get fault() {
      return servers.some(({ isServing }) => isServing) ? null : down();
    },
    get fingerprints() {
      const serving = servers.filter(({ isServing }) => isServing);
      const now = [...new Set(serving.map(({ fingerprint }) => fingerprint ?? "none"))].sort().join();
      if (serving.length > 0) fingerprints = now;
      return fingerprints;
    },
    atHand,
    async prefill(ids, wanted, { signal, expiresAt }) {
      for (let round = 0; ; round++) {
        await atHand(signal);
        const order = inOrder();
        try {
          return await askInTurn(
            order,
            {
              signal,
              budgetMs: (left) =>
                left === 1 ? Number.POSITIVE_INFINITY : (expiresAt() - performance.now()) / left,
              late(server, budgetMs) {
                const fault = replyLate(budgetMs);
                server.failed(fault);
                return fault;
              },
              hedgeMs: ({ usualMs }) => (hedge ? usualMs : null),
              isFinal: (error) => asJudgeError(error).code === "encoder_error",
            },
            (server, inner) => attempt(server, ids, wanted, inner),
          );
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof AggregateError)) throw error;
          // one that is being proved may be there by then
          if (round === 0 && (await settled(signal))) continue;
          // "overloaded" outlives "down": that server will answer again
          throw error.errors.find(({ code }) => code === "overloaded") ?? error.errors[0];
        }
      }
    },
  };
}
