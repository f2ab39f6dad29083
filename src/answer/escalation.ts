// The verdict of a router's escalation mode, which this judge answers as configured. Pure.

/** `stay`: never escalate; `escalate`: always. */
export const escalations = ["stay", "escalate"] as const;
export type Escalation = (typeof escalations)[number];

/** The verdict as the assistant's message: one JSON object with the two keys of the protocol. */
export function renderEscalation(escalation: Escalation, reason: string): string {
  return JSON.stringify({ escalate: escalation === "escalate", reason });
}
