// The encoder process ended while it worked on something.
import { JudgeError } from "../../errors.js";

export class ProcessLost extends JudgeError {
  constructor() {
    super("encoder_down", "the encoder process died; it is being restarted");
  }
}
