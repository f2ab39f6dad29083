import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkSlices } from "../../../../src/encoder/vllm/work-slices.js";

test("pieces run in order, one in a turn of the event loop, and each settles its own caller", async () => {
  const slices = createWorkSlices();
  let loops = 0;
  let counting = true;
  const count = () => {
    loops++;
    if (counting) setTimeout(count, 0);
  };
  const ran: { piece: number; loop: number }[] = [];
  const pieces = [0, 1, 2, 3, 4].map((piece) =>
    slices.take(() => {
      ran.push({ piece, loop: loops });
      const busyUntil = performance.now() + 5;
      while (performance.now() < busyUntil);
      if (piece === 2) throw new Error("of its own");
      return piece;
    }),
  );
  count();
  const outcomes = await Promise.allSettled(pieces);
  counting = false;
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed")),
    [0, 1, "failed", 3, 4],
  );
  assert.deepEqual(
    ran.map(({ piece }) => piece),
    [0, 1, 2, 3, 4],
  );
  // a timer that is due comes between any two
  assert.equal(new Set(ran.map(({ loop }) => loop)).size, 5);
  assert.equal(await slices.take(() => 5), 5);
});
