// A thread of fit-workers.ts: seeds come in, trained members go out.
import { parentPort, workerData } from "node:worker_threads";
import { type MemberTask, trainMember } from "./member.js";

const task: MemberTask = workerData;
parentPort?.on("message", (seed: number) => parentPort?.postMessage(trainMember(task, seed)));
