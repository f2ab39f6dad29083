// Sends many texts through an encoder so that its processes are never idle: texts of similar length go
// together, and the next batch is sent while the first one runs.
const windowSize = 512;
const batchSize = 32;

/**
 * Calls `run` for batches of at most 32 texts, one for each process and one more at a time.
 * @param processes the number of processes of the encoder
 * @param run gets a batch and the places of its texts; its first error ends the work
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
