// The path that a client meant and missed.

/**
 * The one of `known` that a path becomes once its slashes are single and none stands at its end, and what a base URL has beside
 * the client's own part is left out: something before /v1, or that part itself.
 */
export function rightPath(path: string, known: readonly string[]): string | null {
  const tidied = path.replace(/\/+/g, "/").replace(/\/$/, "");
  const isMeant = (candidate: string) => {
    if (tidied === candidate) return true;
    if (!candidate.startsWith("/v1/")) return false;
    return tidied.endsWith(candidate) || tidied === candidate + candidate.slice("/v1".length);
  };
  return known.find(isMeant) ?? null;
}
