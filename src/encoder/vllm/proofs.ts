// What a server must show before its results are given out: a context that is long enough, the hidden states
// of the server that was first, and what judges ask of it.
import { withTimeout } from "../../abort.js";
import { asJudgeError, JudgeError } from "../../errors.js";
import type { PooledVectors, WantedFeatures } from "../../features/pooled.js";
import type { Proof, ProofSource } from "../encoder.js";
import type { Client } from "./client.js";
import type { HiddenStates } from "./hidden-states.js";
import { hashOfVectors, isAlike } from "./likeness.js";
import type { Outcome } from "./prefill.js";
import type { VllmServer } from "./server.js";
import { replyLate, serverChanged } from "./server-faults.js";

export interface ProofParts {
  readonly servedModel: string;
  /** hidden-state indices that the servers give */
  readonly captured: readonly number[];
  /** token ids of the sample */
  readonly sampleIds: () => readonly number[];
  readonly prefill: (
    client: Client,
    ids: readonly number[],
    wanted: WantedFeatures,
    signal?: AbortSignal,
  ) => Promise<Outcome>;
  /** one server as a source of hidden states; tells of each prefill, and of each that did not come about */
  readonly sourceOf: (client: Client, told: (found: Outcome | JudgeError) => void) => ProofSource;
  /** of one request for what a server offers */
  readonly timeoutMs: number;
}

/** The server that was first. */
export interface Reference {
  readonly states: HiddenStates;
  /** tokens that it takes; null where it does not say */
  readonly contextLength: number | null;
  /** of its hidden states for the sample */
  readonly hash: string;
}

export interface Proofs {
  /** null before any server has answered */
  readonly reference: Reference | null;
  /** @returns the fingerprint of the server's replies */
  prove(client: Client): Promise<string | null>;
  /** That a server that was proved gives what it gave. */
  check(server: VllmServer): Promise<void>;
  /**
   * Runs a proof on each server that serves, and from now on when one is proved. A server that does not pass
   * serves no more, unless none passes.
   * @returns ends it
   * @throws what the proof throws on the first server; JudgeError `encoder_down` when none serves
   */
  admit(proof: Proof, servers: readonly VllmServer[]): Promise<() => void>;
}

export function createProofs(parts: ProofParts): Proofs {
  const { servedModel, captured, sampleIds, prefill, sourceOf, timeoutMs } = parts;
  const wanted: WantedFeatures = { layers: captured, pooling: ["mean", "last"] };
  const proofs = new Set<Proof>();
  let reference: Reference | null = null;

  async function contextOf(client: Client): Promise<number | null> {
    const late = () => replyLate(timeoutMs);
    const models = await withTimeout(timeoutMs, late, undefined, client.models);
    return models.find(({ id }) => id === servedModel)?.contextLength ?? null;
  }

  function compare({ states }: Outcome, known: PooledVectors): void {
    if (isAlike(known, states.pooled)) return;
    throw new JudgeError("encoder", {
      found: "the vLLM server gives other hidden states than the judges were tested on",
      remedy:
        "start it again with the model and the eagle_aux_hidden_state_layer_ids of before, or start this server again",
    });
  }

  async function run(proof: Proof, client: Client, fingerprint: string | null): Promise<void> {
    let fault: JudgeError | null = null;
    const source = sourceOf(client, (found) => {
      if (found instanceof JudgeError) fault ??= found;
      else if (found.fingerprint !== fingerprint) fault ??= serverChanged();
    });
    const error = await proof(source).catch(asJudgeError);
    // a server that is not there fails no selftest
    if (fault !== null) throw fault;
    if (error !== undefined) throw error;
  }

  return {
    get reference() {
      return reference;
    },
    async prove(client) {
      const contextLength = await contextOf(client);
      const outcome = await prefill(client, sampleIds(), wanted);
      const { fingerprint, states } = outcome;
      const known = reference;
      if (known !== null) {
        compare(outcome, known.states.pooled);
        if (contextLength !== null && known.contextLength !== null && contextLength < known.contextLength)
          throw new JudgeError("encoder", {
            found: `the vLLM server takes ${contextLength} tokens, at the start it was ${known.contextLength}`,
            remedy: "start it with the --max-model-len of before, or start this server again",
          });
      }
      for (const proof of proofs)
        await run(proof, client, fingerprint).catch((error) => {
          throw asJudgeError(error).within("a judge's proof of the vLLM server");
        });
      reference ??= { states, contextLength, hash: hashOfVectors(states.pooled) };
      return fingerprint;
    },
    async check(server) {
      const outcome = await prefill(server.client, sampleIds(), wanted);
      if (outcome.fingerprint !== server.fingerprint) throw serverChanged();
      compare(outcome, reference!.states.pooled);
    },
    async admit(proof, servers) {
      const serving = servers.filter(({ isServing }) => isServing);
      if (serving.length === 0)
        throw servers[0]!.fault ?? new JudgeError("encoder_down", { found: "no vLLM server serves" });
      // one that is being proved runs it at the end of its proof
      proofs.add(proof);
      const outcomes = await Promise.all(
        serving.map(async (server) => {
          const error = await run(proof, server.client, server.fingerprint).catch(asJudgeError);
          return { server, error: error ?? null };
        }),
      );
      const failed = outcomes.filter(({ error }) => error !== null);
      if (failed.length === serving.length) {
        proofs.delete(proof);
        throw failed[0]!.error;
      }
      for (const { server, error } of failed) server.lost(error!);
      return () => proofs.delete(proof);
    },
  };
}
