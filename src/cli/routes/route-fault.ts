// What `routes check` says of a routes file.

export interface RouteFault {
  /** counted from 1 */
  readonly line: number;
  readonly severity: "error" | "warning";
  /** what is wrong, and what to write instead */
  readonly message: string;
}

export type Report = (fault: {
  /** absent: an error */
  readonly severity?: RouteFault["severity"];
  /** table names and the key */
  readonly place: readonly string[];
  readonly found: string;
  readonly remedy: string;
}) => void;
