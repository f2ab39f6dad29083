// Prometheus' text, read back.

/** Values by series, as they are written: `name{label="value"}`. */
export type Series = ReadonlyMap<string, number>;

export async function scrape(url: string): Promise<Series> {
  return parseMetrics(await (await fetch(`${url}/metrics`)).text());
}

export function parseMetrics(text: string): Series {
  const series = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const space = line.lastIndexOf(" ");
    series.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return series;
}

/** What has been added to a series of ours between two scrapes. */
export function added(before: Series, after: Series, name: string): number {
  const key = `prefill_judge_${name}`;
  return (after.get(key) ?? 0) - (before.get(key) ?? 0);
}
