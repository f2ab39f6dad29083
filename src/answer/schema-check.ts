// Checks an answer against a request's JSON Schema, in a thread that a hostile schema cannot block.
import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { schemaText } from "./schema-validator.js";

/** Outcomes kept; a router repeats one schema with one answer for each of its groups. */
const maxOutcomes = 1000;
/** Validations that may wait. A new schema waits no longer than these take, hostile ones among them. */
const maxWaiting = 8;
/** Heap of the thread. A schema that needs more ends the thread. */
const maxHeapMebibytes = 64;

export interface SchemaCheck {
  /**
   * Whether `schema` takes `answer`; false for a schema that is malformed, too large or too slow.
   * @param answer is small, since the configuration makes it
   */
  accepts(schema: unknown, answer: unknown): Promise<boolean>;
}

export function createSchemaCheck(): SchemaCheck {
  const outcomes = new LRUCache<string, Promise<boolean>>({ max: maxOutcomes });
  const validate = createValidatorThread();
  return {
    async accepts(schema, answer) {
      const text = schemaText(schema);
      if (text === null) return false;
      const key = createHash("sha256").update(text).update("\0").update(JSON.stringify(answer)).digest("hex");
      const known = outcomes.get(key);
      if (known !== undefined) return known;
      const outcome = validate(text, answer).then((isValid) => {
        // a busy machine may have been at fault, so the next request tries again
        if (isValid === null) outcomes.delete(key);
        return isValid === true;
      });
      outcomes.set(key, outcome);
      return outcome;
    },
  };
}

/** One thread for all, started when it is needed. It keeps the process alive only while somebody waits. */
function createValidatorThread() {
  const waiting: ((isValid: boolean | null) => void)[] = [];
  let thread: Worker | null = null;

  function start(): Worker {
    const started = new Worker(new URL("./schema-thread.js", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMebibytes },
    });
    started.on("message", (isValid: boolean | null) => {
      waiting.shift()?.(isValid);
      if (waiting.length === 0) started.unref();
    });
    // its end follows, and is enough to know
    started.on("error", () => {});
    started.on("exit", () => {
      thread = null;
      for (const resolve of waiting.splice(0)) resolve(null);
    });
    return started;
  }

  return (schema: string, answer: unknown): Promise<boolean | null> => {
    if (waiting.length >= maxWaiting) return Promise.resolve(null);
    return new Promise((resolve) => {
      waiting.push(resolve);
      thread ??= start();
      thread.ref();
      thread.postMessage({ schema, answer });
    });
  };
}
