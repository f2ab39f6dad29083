// What the tests' vLLM server can do wrong, and what must come of it.
import type { ErrorCode } from "../../../src/errors.js";
import type { Fault } from "./files.js";

/** of the reply, and of the file */
export const timeoutMs = 500;
export const faults: readonly (readonly [fault: Fault, code: ErrorCode, message: RegExp])[] = [
  ["partial", "encoder_error", /is not whole after 500 ms/],
  ["never", "encoder_error", /is not there after 500 ms; the server writes elsewhere: mount/],
  ["zeroed", "encoder_error", /with zeros for a token/],
  ["zero rows", "encoder_error", /with zeros for a token/],
  ["constant", "encoder_error", /one value throughout/],
  ["not finite", "encoder_error", /not finite/],
  ["other ids", "encoder_error", /other token ids than were sent/],
  ["missing rows", "encoder_error", /of \d+ tokens, wanted \d+/],
  ["missing layer", "encoder_error", /of 1 layers, captured_layers names 2/],
  ["trailing bytes", "encoder_error", /longer than its header says/],
  ["no safetensors", "encoder_error", /not a safetensors file/],
  ["outside the root", "encoder_error", /outside hidden_states_root/],
  ["outside through a link", "encoder_error", /outside hidden_states_root/],
  ["relative path", "encoder_error", /outside hidden_states_root/],
  ["another suffix", "encoder_error", /is not named cmpl-….safetensors; start the server with/],
  ["no path", "encoder_error", /names no hidden_states_path/],
  ["symbolic link", "encoder_error", /is a symbolic link/],
  ["pipe", "encoder_error", /is not a regular file/],
  ["folder", "encoder_error", /is not a regular file/],
  ["sparse", "encoder_error", /has 1099511627776 bytes, wanted at most/],
  ["sparse header", "encoder_error", /has 1099511627776 bytes, wanted at most/],
  ["400", "encoder_error", /refused the request \(400\)/],
  ["401", "encoder_error", /refused the API key \(401\)/],
  ["404", "encoder_error", /does not know the model \(404\)/],
  ["429", "overloaded", /ask again later/],
  ["too long", "encoder_error", /takes fewer tokens than were sent \(400\); lower the judge's max_tokens/],
  ["unknown model", "encoder_error", /does not know the model \(404\); set served_model/],
  ["500", "encoder_down", /answered 500/],
  ["no JSON", "encoder_error", /names no hidden_states_path/],
  ["endless reply", "encoder_error", /over 1 MiB/],
  ["cut off", "encoder_down", /the connection was cut off \(ECONNRESET\); see the server's own log/],
  ["switches protocols", "encoder_down", /cannot be asked: no connection; set base_url/],
  ["hung", "encoder_down", /no reply within 500 ms/],
  ["half a reply", "encoder_down", /no reply within 500 ms/],
];
/** faults that leave something which only the server, or the sweep, can remove */
const leftBehind: Partial<Record<Fault, readonly RegExp[]>> = {
  "outside through a link": [/^link$/],
  "another suffix": [/\.txt$/, /\.txt\.lock$/],
  "relative path": [/\.safetensors$/, /\.safetensors\.lock$/],
  "no path": [/\.safetensors$/, /\.safetensors\.lock$/],
  folder: [/\.safetensors$/],
};

/** Whether these names are all that a fault leaves in the folder. */
export function isLeftBehind(fault: Fault, names: readonly string[]): boolean {
  const wanted = leftBehind[fault] ?? [];
  return names.length === wanted.length && names.toSorted().every((name, index) => wanted[index]!.test(name));
}
