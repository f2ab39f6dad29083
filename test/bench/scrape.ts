// The server's metrics as numbers by series.

/** @throws Error when /metrics does not answer */
export async function scrape(port: number): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))] as const;
    }),
  );
}
