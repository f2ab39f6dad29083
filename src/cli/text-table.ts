// Figures as text for a terminal, and tables of them.
import type { Estimate } from "../evaluate/bootstrap.js";

/** Columns padded to their widest entry, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** A cost, in whatever unit: a request may cost a ten-thousandth of it. */
export function amount(value: number): string {
  return value.toPrecision(4);
}

export function number(value: number | null): string {
  return value === null ? "-" : value.toFixed(3);
}

export function percent(value: number | null): string {
  return value === null ? "-" : `${(100 * value).toFixed(1)} %`;
}

/** In percent. */
export function share({ value, low, high }: Estimate): string {
  const digits = (part: number) => (100 * part).toFixed(1);
  return low === null || high === null
    ? percent(value)
    : `${percent(value)} [${digits(low)}, ${digits(high)}]`;
}

export function estimate({ value, low, high }: Estimate): string {
  return low === null || high === null ? number(value) : `${number(value)} [${number(low)}, ${number(high)}]`;
}

export function difference({ value, low, high }: Estimate): string {
  const signed = (part: number | null) => (part === null ? "-" : `${part < 0 ? "" : "+"}${part.toFixed(3)}`);
  return low === null || high === null ? signed(value) : `${signed(value)} [${signed(low)}, ${signed(high)}]`;
}
