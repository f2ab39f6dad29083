// The path that a client meant and missed.

/** The one of `known` that was meant: slashes may be doubled, or a base URL may hold too much. */
export function rightPath(path: string, known: readonly string[]): string | null {
  const tidied = path.replace(/\/+/g, "/").replace(/\/$/, "");
  const isMeant = (candidate: string) => {
    if (tidied === candidate) return true;
    if (!candidate.startsWith("/v1/")) return false;
    return tidied.endsWith(candidate) || tidied === candidate + candidate.slice("/v1".length);
  };
  return known.find(isMeant) ?? null;
}
