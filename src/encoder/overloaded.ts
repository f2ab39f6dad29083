// What an encoder says of a text for which it has no time.
import { JudgeError } from "../errors.js";

export function overloaded(why = "more is asked than the encoder can do in time"): JudgeError {
  return new JudgeError("overloaded", { found: why, remedy: "ask again later" });
}
