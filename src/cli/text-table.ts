// Writes figures as text for a terminal, and puts them into tables.
import type { Estimate } from "../evaluate/bootstrap.js";

/** Rows as lines. Each column is as wide as its widest cell; two spaces lie between columns. */
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

/** A cost in any unit. A request may cost a ten-thousandth of one. */
export function amount(value: number): string {
  return value.toPrecision(4);
}

export function number(value: number | null): string {
  return value === null ? "-" : value.toFixed(3);
}

export function percent(value: number | null): string {
  return value === null ? "-" : `${(100 * value).toFixed(1)} %`;
}

/** An estimate of a share, in percent. */
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
