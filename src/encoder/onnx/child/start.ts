// Where the encoder process starts: loads the rest of it, or tells the server why it cannot.

import { JudgeError } from "../../../errors.js";
import { importNative } from "../../process/native-fault.js";
import type { Report } from "../protocol.js";
import { toWire } from "../wire-error.js";

try {
  await importNative(() => import("./process.js"));
} catch (error) {
  if (!(error instanceof JudgeError)) throw error;
  const report: Report = { kind: "failed", error: toWire(error) };
  process.on("message", () => process.send?.(report));
}
