// What one look at one part of an encoder came to, for whoever has to mend it.
import type { JudgeError } from "../errors.js";

/** `wrong`: it cannot work; `warning`: it works, but should change; `skipped`: another thing comes first. */
export type ObservationStatus = "ok" | "warning" | "wrong" | "skipped";

export interface Observation {
  /** what was looked at; one of a closed list of words, for scripts */
  readonly check: string;
  readonly status: ObservationStatus;
  /** one line */
  readonly found: string;
  /** what to do, one line; null where nothing is to be done */
  readonly advice: string | null;
  /** the figures of what was found, by name */
  readonly values: Readonly<Record<string, unknown>>;
}

export function observation(
  check: string,
  status: ObservationStatus,
  { found, advice = null, values = {} }: Pick<Observation, "found"> & Partial<Observation>,
): Observation {
  return { check, status, found, advice, values };
}

/** What an error says of the thing that was looked at. */
export function faultObservation(check: string, error: JudgeError): Observation {
  return observation(check, "wrong", { found: error.finding, advice: error.remedy });
}
