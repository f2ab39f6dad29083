// Runs code that may never end, such as a template of the user's, and cuts it off: nothing else of its process runs meanwhile.
import { createContext, Script } from "node:vm";

/**
 * A function that runs synchronous work in this process, for at most so long.
 *
 * @param late makes the error of what took longer
 */
export function createBoundedRun(timeoutMs: number, late: () => Error): <T>(work: () => T) => T {
  const place: { work: (() => unknown) | null } = { work: null };
  const context = createContext(place);
  const script = new Script("work()");
  return <T>(work: () => T): T => {
    place.work = work;
    try {
      return script.runInContext(context, { timeout: timeoutMs }) as T;
    } catch (error) {
      // it comes from another realm, whose Error is not ours
      throw (error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? late() : error;
    } finally {
      place.work = null;
    }
  };
}
