// The thread of schema-check.ts: schemas and answers come in, outcomes go out in the same order.
import { parentPort } from "node:worker_threads";
import { validateAnswer } from "./schema-validator.js";

parentPort?.on("message", ({ schema, answer }: { schema: string; answer: unknown }) => {
  parentPort?.postMessage(validateAnswer(schema, answer));
});
