// The judges that serve now, and their replacement while requests run. A request keeps the generation it
// began with. What only one generation used ends after its last request, or when too many generations wait
// for theirs.
import type { Registry } from "./registry.js";

/** Judges that came into service together. */
export interface Generation<Verdict = unknown> {
  readonly registry: Registry<Verdict>;
  /** Ends what only this generation used. Requests that still run find their encoder down. */
  retire(): Promise<void>;
}

export interface Lease<Verdict = unknown> {
  readonly registry: Registry<Verdict>;
  /** To be called once, when the request has its answer. */
  release(): void;
}

export interface LiveRegistry<Verdict = unknown> {
  readonly current: Registry<Verdict>;
  acquire(): Lease<Verdict>;
  /** `next` serves from now on. The one before is retired after its last lease, or after two younger ones. */
  replace(next: Generation<Verdict>): void;
  /** Resolves when every replaced generation has been retired. */
  settled(): Promise<void>;
}

interface Held<Verdict> {
  readonly generation: Generation<Verdict>;
  leases: number;
}

/** Replaced generations that may wait for their requests, each perhaps with an encoder of its own. */
const mostWaiting = 2;

export function createLiveRegistry<Verdict>(first: Generation<Verdict>): LiveRegistry<Verdict> {
  let current: Held<Verdict> = { generation: first, leases: 0 };
  /** replaced and in use, oldest first */
  let waiting: Held<Verdict>[] = [];
  const retiring = new Set<Promise<void>>();
  let onSettled: (() => void)[] = [];

  function retire(held: Held<Verdict>): void {
    waiting = waiting.filter((other) => other !== held);
    // a generation that cannot be retired must not keep the others
    const retired = held.generation
      .retire()
      .catch(() => {})
      .finally(() => {
        retiring.delete(retired);
        tellSettled();
      });
    retiring.add(retired);
  }

  function tellSettled(): void {
    if (waiting.length + retiring.size > 0) return;
    const told = onSettled;
    onSettled = [];
    for (const tell of told) tell();
  }

  return {
    get current() {
      return current.generation.registry;
    },
    acquire() {
      const held = current;
      held.leases++;
      let released = false;
      return {
        registry: held.generation.registry,
        release() {
          if (released) return;
          released = true;
          held.leases--;
          if (held.leases === 0 && waiting.includes(held)) retire(held);
        },
      };
    },
    replace(next) {
      const old = current;
      current = { generation: next, leases: 0 };
      if (old.leases === 0) return retire(old);
      waiting.push(old);
      if (waiting.length > mostWaiting) retire(waiting[0]!);
    },
    settled() {
      return new Promise((resolve) => {
        onSettled.push(resolve);
        tellSettled();
      });
    },
  };
}
