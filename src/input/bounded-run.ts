// Runs code that may never end, such as a user's template, and cuts it off.
import { createContext, Script } from "node:vm";

/**
 * What synchronous work gives, run in this process for at most so long. Starts a thread each time: not for
 * every request.
 * @param late makes the error of what took longer
 */
export function runBounded<T>(timeoutMs: number, late: () => Error, work: () => T): T {
  try {
    return new Script("work()").runInContext(createContext({ work }), { timeout: timeoutMs }) as T;
  } catch (error) {
    // it comes from another realm, whose Error is not ours
    throw (error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? late() : error;
  }
}
