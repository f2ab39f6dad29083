// Many texts through an encoder whose processes are never idle; texts of like length go together.

const windowSize = 512;
const batchSize = 32;

/**
 * Calls `run` for batches of at most 32 texts until all have been in one; at a time one for each process, and
 * one more. Within windows of 512 the shortest come first, so that what is left takes about as long as what
 * is done.
 *
 * @param processes of the encoder
 * @param run is given the batch and the places of its texts; its first error ends the work
 */
export async function inBulk(
  texts: readonly string[],
  processes: number,
  run: (batch: readonly string[], places: readonly number[]) => Promise<void>,
): Promise<void> {
  const batches = batchesOf(texts);
  let failed = false;
  const worker = async () => {
    for (const places of batches) {
      if (failed) return;
      try {
        await run(
          places.map((place) => texts[place]!),
          places,
        );
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: processes + 1 }, worker));
  for (const result of ended) if (result.status === "rejected") throw result.reason;
}

function* batchesOf(texts: readonly string[]): Generator<number[]> {
  for (let start = 0; start < texts.length; start += windowSize) {
    const size = Math.min(windowSize, texts.length - start);
    const places = Array.from({ length: size }, (_, index) => start + index);
    places.sort((a, b) => texts[a]!.length - texts[b]!.length);
    for (let first = 0; first < size; first += batchSize) yield places.slice(first, first + batchSize);
  }
}
