// The processes of one encoder. Each runs one work at a time; a run goes to one that is up and has none.
import type { Answer, LoadedFacts, Work } from "./protocol.js";
import type { Supervisor } from "./supervisor-parts.js";

export interface Processes {
  /** how many of the processes are up: so many runs can go on at the same time */
  readonly upCount: number;
  /** whether one has been started and is not up yet */
  readonly loading: boolean;
  /** process ids of those that there are */
  readonly pids: readonly number[];
  /** @throws JudgeError when one of the processes cannot load the model; the others are ended */
  start(): Promise<LoadedFacts>;
  /** As the supervisor's, on a process that is free: whoever asks keeps to `upCount` runs at a time. */
  run(work: Work): Promise<Answer>;
  close(): Promise<void>;
}

/** @param supervisors at least one, each of a process of its own */
export function createProcesses(supervisors: readonly Supervisor[]): Processes {
  async function close(): Promise<void> {
    await Promise.all(supervisors.map((supervisor) => supervisor.close()));
  }

  return {
    get upCount() {
      return supervisors.filter((supervisor) => supervisor.up).length;
    },
    get loading() {
      return supervisors.some((supervisor) => supervisor.loading);
    },
    get pids() {
      return supervisors.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    },
    async start() {
      try {
        const [facts] = await Promise.all(supervisors.map((supervisor) => supervisor.start()));
        return facts!;
      } catch (error) {
        await close();
        throw error;
      }
    },
    run(work) {
      const free = supervisors.find(({ up, busy }) => up && !busy);
      return (free ?? supervisors[0]!).run(work);
    },
    close,
  };
}
