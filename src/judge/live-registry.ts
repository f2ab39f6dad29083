// The judges that serve now, and their replacement while requests run: a request keeps the generation it began with, and
// what a generation alone used ends after its last request.
import type { Registry } from "./registry.js";

/** Judges that came into service together. */
export interface Generation {
  readonly registry: Registry;
  /** Ends what only this generation used. */
  retire(): Promise<void>;
}

export interface Lease {
  readonly registry: Registry;
  /** To be called once, when the request has its answer. */
  release(): void;
}

export interface LiveRegistry {
  readonly current: Registry;
  acquire(): Lease;
  /** From now on `next` serves; the one before is retired after its last lease, and after those before it. */
  replace(next: Generation): void;
  /** Resolves when every replaced generation has been retired. */
  settled(): Promise<void>;
}

interface Held {
  readonly generation: Generation;
  leases: number;
  /** called when the last lease of a replaced generation ends */
  onFree: (() => void) | null;
}

export function createLiveRegistry(first: Generation): LiveRegistry {
  let current: Held = { generation: first, leases: 0, onFree: null };
  let retired: Promise<void> = Promise.resolve();
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
          if (held.leases === 0) held.onFree?.();
        },
      };
    },
    replace(next) {
      const old = current;
      current = { generation: next, leases: 0, onFree: null };
      const free = new Promise<void>((resolve) => {
        if (old.leases === 0) resolve();
        else old.onFree = resolve;
      });
      // a generation that cannot be retired must not keep the others
      retired = Promise.all([retired, free])
        .then(() => old.generation.retire())
        .catch(() => {});
    },
    settled: () => retired,
  };
}
