// Trains seeds side by side in worker threads. Which worker takes which seed changes nothing in the result.
import { Worker } from "node:worker_threads";
import type { TrainSeeds } from "./fit.js";
import type { TrainedMember } from "./member.js";

/** @param count threads at most; each holds a copy of the task's data */
export function createSeedWorkers(count: number): TrainSeeds {
  return async (task, seeds, onMember) => {
    const members: TrainedMember[] = [];
    const waiting = seeds.entries();
    const workers = Array.from({ length: Math.min(count, seeds.length) }, () => {
      return new Worker(new URL("./fit-worker.js", import.meta.url), { workerData: task });
    });
    const runs = workers.map((worker) => {
      return runSeeds(worker, waiting, (place, member) => {
        members[place] = member;
        onMember?.(member);
      });
    });
    try {
      await Promise.all(runs);
      return members;
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  };
}

/** Gives the worker the next seed until none is left. */
function runSeeds(
  worker: Worker,
  waiting: Iterator<[place: number, seed: number]>,
  onMember: (place: number, member: TrainedMember) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let place = 0;
    const giveNext = () => {
      const next = waiting.next();
      if (next.done) return resolve();
      place = next.value[0];
      worker.postMessage(next.value[1]);
    };
    worker.on("message", (member: TrainedMember) => {
      try {
        onMember(place, member);
        giveNext();
      } catch (error) {
        reject(error);
      }
    });
    worker.on("error", reject);
    worker.on("exit", (code) => reject(new Error(`a training thread ended with exit code ${code}`)));
    giveNext();
  });
}
