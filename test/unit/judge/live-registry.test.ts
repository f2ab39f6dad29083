// Generations of judges: who serves, who is still in use, and in what order they end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { createLiveRegistry, type Generation } from "../../../src/judge/live-registry.js";
import type { Registry } from "../../../src/judge/registry.js";

/** Generations that note their end, and end at once unless they are told to wait. */
function createGenerations() {
  const retired: number[] = [];
  let count = 0;
  const next = (wait?: Promise<void>): Generation & { readonly number: number } => {
    const number = count++;
    return {
      number,
      registry: { number } as unknown as Registry,
      async retire() {
        await wait;
        retired.push(number);
      },
    };
  };
  return { next, retired };
}

test("a request keeps the judges it began with; the next request gets the new ones", async () => {
  const { next, retired } = createGenerations();
  const [first, second] = [next(), next()];
  const live = createLiveRegistry(first);
  const lease = live.acquire();
  assert.equal(lease.registry, first.registry);
  live.replace(second);
  assert.equal(live.current, second.registry);
  assert.equal(lease.registry, first.registry);
  const other = live.acquire();
  assert.equal(other.registry, second.registry);
  await turn();
  assert.deepEqual(retired, []);
  lease.release();
  await live.settled();
  assert.deepEqual(retired, [0]);
});

test("judges that nobody uses end as soon as they are replaced, those that serve do not", async () => {
  const { next, retired } = createGenerations();
  const live = createLiveRegistry(next());
  live.acquire().release();
  await live.settled();
  assert.deepEqual(retired, []);
  live.replace(next());
  await live.settled();
  assert.deepEqual(retired, [0]);
});

test("a lease counts once, however often it is released", async () => {
  const { next, retired } = createGenerations();
  const live = createLiveRegistry(next());
  const [one, two] = [live.acquire(), live.acquire()];
  live.replace(next());
  one.release();
  one.release();
  await turn();
  assert.deepEqual(retired, []);
  two.release();
  two.release();
  await live.settled();
  assert.deepEqual(retired, [0]);
});

test("a free generation ends at once, whatever those before it wait for", async () => {
  const { next, retired } = createGenerations();
  const live = createLiveRegistry(next(new Promise<void>(() => {})));
  live.replace(next());
  const lease = live.acquire();
  live.replace(next());
  live.replace(next());
  await turn();
  assert.deepEqual(retired, [2]);
  lease.release();
  await turn();
  assert.deepEqual(retired, [2, 1]);
});

test("two replaced generations may wait for their requests: a third one ends the oldest, under its request", async () => {
  const { next, retired } = createGenerations();
  const live = createLiveRegistry(next());
  const leases = [0, 1, 2, 3].map(() => {
    const lease = live.acquire();
    live.replace(next());
    return lease;
  });
  await turn();
  assert.deepEqual(retired, [0, 1]);
  leases.reverse();
  for (const lease of leases) lease.release();
  await live.settled();
  assert.deepEqual(retired, [0, 1, 3, 2], "each once");
});

test("settled waits for everything replaced so far", async () => {
  const { next, retired } = createGenerations();
  const live = createLiveRegistry(next());
  const lease = live.acquire();
  live.replace(next());
  let settled = false;
  const waiting = live.settled().then(() => {
    settled = true;
  });
  await turn();
  assert.equal(settled, false);
  lease.release();
  await waiting;
  assert.deepEqual(retired, [0]);
});

test("in any order of requests and swaps: each ends once it is free, or the third to wait, and all in the end", async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant("acquire" as const) },
    { weight: 3, arbitrary: fc.nat(100) },
    { weight: 1, arbitrary: fc.constant("replace" as const) },
  );
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
    const { next, retired } = createGenerations();
    const live = createLiveRegistry(next());
    let leases: { number: number; release(): void }[] = [];
    let swaps = 0;
    /** ended under a request */
    const forced = new Set<number>();
    const inUse = () => new Set(leases.map(({ number }) => number).filter((number) => !forced.has(number)));
    const check = async () => {
      await turn();
      const wanted = Array.from({ length: swaps }, (_, number) => number).filter(
        (number) => !inUse().has(number),
      );
      assert.deepEqual(retired.toSorted(), wanted.toSorted());
    };
    for (const action of steps) {
      if (action === "acquire") {
        const { registry, release } = live.acquire();
        const { number } = registry as unknown as { number: number };
        assert.equal(number, swaps);
        leases.push({ number, release });
      } else if (action === "replace") {
        live.replace(next());
        swaps++;
        const waiting = [...inUse()].sort((a, b) => a - b);
        if (waiting.length > 2) forced.add(waiting[0]!);
      } else if (leases.length > 0) {
        const leaving = leases[action % leases.length]!;
        leases = leases.filter((lease) => lease !== leaving);
        leaving.release();
      }
      await check();
    }
    for (const { release } of leases) release();
    leases = [];
    await live.settled();
    await check();
  });
  await fc.assert(property, { numRuns: 200 });
});
