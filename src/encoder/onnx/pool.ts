// The processes of one encoder. Each runs one work at a time; a run goes to one that has none.
import type { Answer, LoadedFacts, Work } from "./protocol.js";
import type { Supervisor } from "./supervisor.js";

export interface Pool {
  /** true while any of the processes is */
  readonly up: boolean;
  /** how many runs can go on at the same time: one per process that is up, and one that waits while none is */
  readonly runs: number;
  /** process ids of those that run */
  readonly pids: readonly number[];
  /** @throws JudgeError when one of the processes cannot load the model; the others are ended */
  start(): Promise<LoadedFacts>;
  /** As the supervisor's, on a process without a run where there is one. */
  call(work: Work): Promise<Answer>;
  /** As the supervisor's. At most `runs` of them at a time. */
  callOnce(work: Work): Promise<Answer>;
  close(): Promise<void>;
}

/** @param supervisors at least one, each of a process of its own */
export function createPool(supervisors: readonly Supervisor[]): Pool {
  const idle = new Set(supervisors);

  /** the first that is up and has no run; else one that is up, or else has no run */
  function choose(): Supervisor {
    const up = supervisors.filter((supervisor) => supervisor.up);
    const best = up.find((supervisor) => idle.has(supervisor)) ?? up[0] ?? [...idle][0] ?? supervisors[0];
    return best!;
  }

  async function close(): Promise<void> {
    await Promise.all(supervisors.map((supervisor) => supervisor.close()));
  }

  return {
    get up() {
      return supervisors.some((supervisor) => supervisor.up);
    },
    get runs() {
      return Math.max(1, supervisors.filter((supervisor) => supervisor.up).length);
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
    call: (work) => choose().call(work),
    async callOnce(work) {
      const supervisor = choose();
      idle.delete(supervisor);
      try {
        return await supervisor.callOnce(work);
      } finally {
        idle.add(supervisor);
      }
    },
    close,
  };
}
