// The thread of schema-check.ts: schemas and answers come in, outcomes go out in the same order.
import { parentPort } from "node:worker_threads";
import { createSchemaValidator } from "./schema-validator.js";

const validate = createSchemaValidator();
parentPort?.on("message", ({ schema, answer }: { schema: string; answer: unknown }) => {
  parentPort?.postMessage(validate(schema, answer));
});
