// The encoder port for vLLM servers: tokens are made here, hidden states come back in files.
import { linked } from "../../abort.js";
import { JudgeError } from "../../errors.js";
import type { WantedFeatures } from "../../features/pooled.js";
import type { Encoder, EncoderFacts, Proof } from "../encoder.js";
import { overloaded } from "../overloaded.js";
import { tokenizeAll } from "../tokenizer/tokenize-all.js";
import { orderWarning } from "./captured-order.js";
import { type Client, createClient } from "./client.js";
import { checkFolder } from "./folder-check.js";
import { checkRoom, type FolderKeeper, startFolderKeeper } from "./folder-keeper.js";
import { createHiddenStateReader } from "./hidden-states.js";
import { sampleText } from "./likeness.js";
import { createLimiter } from "./limiter.js";
import { capturedIndices, factsOf, type LoadedFolder, loadFolder } from "./load.js";
import type { VllmEncoderParts } from "./parts.js";
import { type Outcome, prefillOn } from "./prefill.js";
import { createProofs } from "./proofs.js";
import { createReporter } from "./reporter.js";
import { createServer } from "./server.js";
import { isPassing } from "./server-faults.js";
import { createServers } from "./servers.js";
import { type Sweeper, startSweeper } from "./sweep.js";
import { createTextRuns } from "./text-runs.js";
import { createWorkSlices } from "./work-slices.js";

export function createVllmEncoder(parts: VllmEncoderParts): Encoder {
  const { id, events, hiddenStatesRoot: root, timeoutMs } = parts;
  const limiter = createLimiter(parts.maxInFlight, parts.queueLimit);
  const slices = createWorkSlices();
  const reader = createHiddenStateReader(slices);
  const captured = capturedIndices(parts);
  const calls = new Set<AbortController>();
  const warned = new Set<string>();
  /** user ids of the files that the servers' answers named */
  const owners = new Set<number>();
  let loaded: LoadedFolder | undefined;
  let facts: EncoderFacts | undefined;
  /** why the last start failed */
  let startFault: JudgeError | null = null;
  let keeper: FolderKeeper | undefined;
  let sweeper: Sweeper | undefined;
  let isClosed = false;

  /** Each once: what is wrong with a folder is wrong again with the next file. */
  const warn = (finding: string) => {
    if (!warned.has(finding)) events.warning(finding);
    warned.add(finding);
  };
  const closed = () => new JudgeError("encoder_down", { found: `encoder ${id} is not running` });
  const texts = createTextRuns(() => {
    if (loaded === undefined || isClosed) throw closed();
    return loaded.tokenizer;
  }, slices);

  /** Runs `work` with a signal that follows `outer` and this encoder's end. */
  function call<T>(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return linked(outer, async (controller) => {
      if (isClosed) throw closed();
      calls.add(controller);
      return await work(controller.signal).finally(() => calls.delete(controller));
    });
  }

  async function prefill(
    client: Client,
    ids: readonly number[],
    wanted: WantedFeatures,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const expected = { ids, captured, hiddenSize: proofs.reference?.states.hiddenSize ?? null };
    const rules = {
      ...{ reader, root, timeoutMs, fileTimeoutMs: parts.fileTimeoutMs },
      onLeftBehind: (code: string) => warn(`a hidden-state file cannot be removed (${code})`),
      onGivenUp: (request: string) => keeper?.add(request),
    };
    const outcome = await prefillOn(client, { expected, wanted }, rules, signal);
    owners.add(outcome.owner);
    return outcome;
  }

  /** For what is no request and needs no place. */
  function prefillAlone(client: Client, ids: readonly number[], wanted: WantedFeatures): Promise<Outcome> {
    return call(undefined, (signal) => prefill(client, ids, wanted, signal));
  }

  const proofs = createProofs({
    ...{ servedModel: parts.servedModel, captured, timeoutMs, prefill: prefillAlone },
    sampleIds() {
      const view = { template: "none", maxTokens: 64, truncation: "right" } as const;
      const [tokens] = tokenizeAll(loaded!.tokenizer, [sampleText], view);
      if (tokens instanceof JudgeError) throw tokens;
      return tokens!.ids;
    },
    sourceOf: (client, told) => ({
      id,
      facts: facts!,
      tokenize: texts.tokenize,
      encode: (given, options) =>
        texts.encode(given, options, undefined, async (ids) => {
          try {
            const outcome = await prefillAlone(client, ids, options);
            told(outcome);
            return outcome.states.pooled;
          } catch (error) {
            if (error instanceof JudgeError && error.code !== "encoder_error") told(error);
            throw error;
          }
        }),
    }),
  });
  const list = parts.baseUrls.map((url) =>
    createServer({
      ...{ retryMs: parts.retryMs, probeIntervalMs: parts.probeIntervalMs },
      ...{ client: createClient(url, parts), prove: proofs.prove, check: proofs.check },
      onChange: (server) => reporter.changed(server),
    }),
  );
  const servers = createServers({ servers: list, prefill, hedge: parts.hedge });
  const reporter = createReporter({ events, retryMs: parts.retryMs, servers: () => servers });

  /** Loads the folder, and asks the servers one after the other until one serves. */
  async function load(): Promise<EncoderFacts> {
    for (const warning of [await checkFolder(root), orderWarning(parts.capturedLayers)]) {
      if (warning !== null) warn(warning.message);
    }
    loaded = await loadFolder(parts.folder);
    for (const server of list) {
      if (!servers.isUp) await server.look();
    }
    if (isClosed) throw closed();
    if (servers.fault !== null) {
      const faults = list.flatMap(({ fault }) => fault ?? []);
      throw faults.find((fault) => !isPassing(fault)) ?? servers.fault;
    }
    return factsOf(parts, loaded, proofs.reference!);
  }

  return {
    id,
    modelName: parts.modelName,
    get up() {
      return facts !== undefined && servers.isUp;
    },
    get fault() {
      return facts === undefined ? startFault : servers.fault;
    },
    get facts() {
      if (facts === undefined)
        throw new JudgeError("encoder_down", { found: `encoder ${id} has not been started` });
      return facts;
    },
    get scope() {
      return `${facts?.hash} ${servers.fingerprints} ${proofs.reference?.hash}`;
    },
    async start() {
      const onError = (code: string) => warn(`hidden-state files cannot be removed (${code})`);
      keeper ??= startFolderKeeper({ root, onBytes: events.folderBytes, onError });
      try {
        facts = await load();
      } catch (error) {
        if (!(error instanceof JudgeError)) throw error;
        startFault = error.withCode(isPassing(error) ? "encoder_down" : "encoder");
        throw startFault.within(`encoder ${id}`);
      }
      if (isClosed) throw closed();
      for (const server of list) if (!server.isServing) void server.look();
      sweeper = startSweeper({
        ...{ root, owners, intervalMs: parts.sweepIntervalMs, staleMs: parts.staleMs },
        onRemoved: events.swept,
        onError: (code) => warn(`stale hidden-state files cannot be removed (${code})`),
      });
    },
    admit: (proof: Proof) => proofs.admit(proof, list),
    async encode(given, options) {
      options.signal?.throwIfAborted();
      if (facts === undefined || isClosed) throw closed();
      const { expiresAt, isBulk = () => false } = options;
      return await call(options.signal, async (signal) => {
        await servers.atHand(signal);
        return await texts.encode(given, options, signal, (ids) =>
          limiter.run(
            async () => {
              if (expiresAt !== undefined && expiresAt() <= performance.now()) throw overloaded();
              checkRoom(keeper?.bytes ?? 0, parts.maxFolderBytes);
              const how = { signal, expiresAt: expiresAt ?? (() => Number.POSITIVE_INFINITY) };
              return (await servers.prefill(ids, options, how)).pooled;
            },
            signal,
            { isPatient: expiresAt === undefined, isBulk },
          ),
        );
      });
    },
    tokenize: texts.tokenize,
    async close() {
      isClosed = true;
      for (const controller of calls) controller.abort(closed());
      for (const server of list) server.close();
      await Promise.all([sweeper?.stop(), keeper?.stop()]);
    },
  };
}
