// The variables that Kubernetes makes for Services. Some look like settings of prefill-judge.
import { isIP } from "node:net";

const isNumber = (value: string) => /^\d+$/.test(value);
const isAddress = (value: string) => isIP(value) !== 0;

/** By the end of the name, what the value must be. */
const forms: readonly (readonly [name: RegExp, isRight: (value: string) => boolean])[] = [
  [/_SERVICE_HOST$/, isAddress],
  [/_SERVICE_PORT(_[A-Z0-9_]+)?$/, isNumber],
  [/_PORT(_\d+_(TCP|UDP|SCTP))?$/, (value) => /^(tcp|udp|sctp):\/\//.test(value)],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, (value) => /^(tcp|udp|sctp)$/.test(value)],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, isNumber],
  [/_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, isAddress],
];

export function isServiceLink(name: string, value: string | undefined): boolean {
  return forms.some(([form, isRight]) => form.test(name) && isRight(value ?? ""));
}
