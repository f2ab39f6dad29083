// What `routes check` reports.

export interface Finding {
  /** counted from 1 */
  readonly line: number;
  readonly severity: "error" | "warning";
  /** what is wrong, and what to write instead */
  readonly message: string;
}

export type Report = (severity: Finding["severity"], place: readonly string[], message: string) => void;
