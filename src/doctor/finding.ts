// What one look at one thing came to, for whoever has to mend it.

/** `wrong`: it cannot work so; `warning`: it works and should not stay so; `skipped`: something else has to work first. */
export type FindingStatus = "ok" | "warning" | "wrong" | "skipped";

export interface Finding {
  /** what was looked at; one of a closed list of words, for scripts */
  readonly check: string;
  readonly status: FindingStatus;
  /** one line */
  readonly found: string;
  /** what to do, one line; null where nothing is to be done */
  readonly advice: string | null;
  /** the finding's figures, by name */
  readonly values: Readonly<Record<string, unknown>>;
}

export function finding(
  check: string,
  status: FindingStatus,
  found: string,
  advice: string | null = null,
  values: Finding["values"] = {},
): Finding {
  return { check, status, found, advice, values };
}

/** An error's message, which by custom is a finding and, after a semicolon, a remedy. */
export function faultFinding(check: string, message: string): Finding {
  const end = message.indexOf("; ");
  if (end < 0) return finding(check, "wrong", message);
  return finding(check, "wrong", message.slice(0, end), message.slice(end + 2));
}
