// One prefill on one server: the request, the file that its reply names, and what is in it.
import { withTimeout } from "../../abort.js";
import type { WantedFeatures } from "../../features/pooled.js";
import type { Client, Prefilled } from "./client.js";
import { takeFile } from "./hidden-state-file.js";
import { type Expected, type HiddenStateReader, type HiddenStates, largestFile } from "./hidden-states.js";
import { newRequestId } from "./request-id.js";
import { mayHaveRun, replyLate } from "./server-faults.js";

export interface PrefillParts {
  readonly reader: HiddenStateReader;
  /** the only folder whose files are opened */
  readonly root: string;
  /** how long a server may take for its reply */
  readonly timeoutMs: number;
  /** how long a file may take after the reply that names it */
  readonly fileTimeoutMs: number;
  /** told the error code when a file cannot be removed */
  readonly onLeftBehind: (code: string) => void;
  /** told the id of a request whose file may still come */
  readonly onGivenUp: (id: string) => void;
  /** told the path that a server names */
  readonly onNamed?: (path: string) => void;
}

export interface Outcome {
  readonly states: HiddenStates;
  readonly fingerprint: Prefilled["fingerprint"];
  /** user id of the file */
  readonly owner: number;
}

/** @throws as Client.prefill and takeFile do; JudgeError `encoder_error` for values that no model gives */
export async function prefillOn(
  client: Client,
  { expected, wanted }: { readonly expected: Expected; readonly wanted: WantedFeatures },
  parts: PrefillParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const id = newRequestId();
  try {
    const late = () => replyLate(parts.timeoutMs);
    const { path, fingerprint } = await withTimeout(parts.timeoutMs, late, signal, (limited) =>
      client.prefill(expected.ids, id, limited),
    );
    parts.onNamed?.(path);
    const rules = {
      root: parts.root,
      timeoutMs: parts.fileTimeoutMs,
      maxBytes: largestFile(expected),
      onLeftBehind: parts.onLeftBehind,
    };
    return await takeFile(path, rules, signal, async (file) => {
      const states = await parts.reader.read(file, expected, wanted, signal);
      return { states, fingerprint, owner: file.owner };
    });
  } catch (error) {
    if (signal.aborted || mayHaveRun(error)) parts.onGivenUp(id);
    throw error;
  }
}
