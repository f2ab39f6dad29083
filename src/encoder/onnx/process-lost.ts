// The encoder process ended while it worked on something.
import { JudgeError } from "../../errors.js";

export class ProcessLost extends JudgeError {
  constructor() {
    super("encoder_down", { found: "the encoder process died", remedy: "it is being restarted" });
  }
}
