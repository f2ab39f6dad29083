// The processes of one encoder. Each runs one work at a time; a run goes to one that is up and has none.
import type { Answer, LoadedFacts, Work } from "./protocol.js";
import type { Supervisor } from "./supervisor-parts.js";

export interface Pool {
  /** how many of the processes are up: so many runs can go on at the same time */
  readonly upCount: number;
  /** whether one has been started and is not up yet */
  readonly loading: boolean;
  /** process ids of those that there are */
  readonly pids: readonly number[];
  /** @throws JudgeError when one of the processes cannot load the model; the others are ended */
  start(): Promise<LoadedFacts>;
  /** As the supervisor's, on a process without a run where there is one. */
  call(work: Work): Promise<Answer>;
  /** As the supervisor's. */
  callOnce(work: Work): Promise<Answer>;
  close(): Promise<void>;
}

/** @param supervisors at least one, each of a process of its own */
export function createPool(supervisors: readonly Supervisor[]): Pool {
  const busy = new Set<Supervisor>();

  function choose(): Supervisor {
    const up = supervisors.filter((supervisor) => supervisor.up);
    return (up.find((supervisor) => !busy.has(supervisor)) ?? up[0] ?? supervisors[0])!;
  }

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
    call: (work) => choose().call(work),
    async callOnce(work) {
      const supervisor = choose();
      busy.add(supervisor);
      try {
        return await supervisor.callOnce(work);
      } finally {
        busy.delete(supervisor);
      }
    },
    close,
  };
}
