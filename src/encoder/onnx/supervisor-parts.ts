// What a supervisor is given, and what it gives; supervisor.ts makes one.
import type { ChildProcess } from "node:child_process";
import type { Answer, LoadCommand, LoadedFacts, Work } from "./protocol.js";

export interface SupervisorEvents {
  up(facts: LoadedFacts, how: { restarts: number; loadMs: number }): void;
  down(how: Down): void;
}

export interface Down {
  readonly code: number | null;
  readonly signal: string | null;
  /** until the next start */
  readonly retryMs: number;
  /** why the process refused to load; null when it died */
  readonly reason: string | null;
  /** it had not been up yet */
  readonly wasLoading: boolean;
}

export interface SupervisorParts {
  /** starts a process with an IPC channel (structured clone) */
  readonly spawn: () => ChildProcess;
  /** made anew for each start */
  readonly load: () => LoadCommand;
  readonly events: SupervisorEvents;
  /** waits before the first, second, … restart in a row; the last repeats */
  readonly backOffMs?: readonly number[];
  /** a process that is busy with one work for so long hangs, and is ended; 60 s where it is absent */
  readonly hangMs?: number;
  /** after so long without a death the next one counts as the first again; default 10 s */
  readonly steadyMs?: number;
}

export interface Supervisor {
  readonly up: boolean;
  /** a process has been started and is not up yet */
  readonly loading: boolean;
  /** a work runs */
  readonly busy: boolean;
  /** process id of the running encoder process */
  readonly pid: number | undefined;
  /** @throws JudgeError `encoder` when the first load fails, `encoder_down` when it has been closed */
  start(): Promise<LoadedFacts>;
  /**
   * Runs a work; one at a time.
   * @throws ProcessLost when the process died of it or under it; JudgeError `encoder_down` when there is none
   */
  run(work: Work): Promise<Answer>;
  close(): Promise<void>;
}
