// A JudgeError on its way between the processes.
import { type ErrorCode, type ErrorText, JudgeError } from "../../errors.js";

export interface WireError extends ErrorText {
  readonly code: ErrorCode;
}

export function toWire<T>(value: T | JudgeError): T | WireError {
  return value instanceof JudgeError ? wireError(value) : value;
}

export function fromWire<T extends object>(value: T | WireError): T | JudgeError {
  return "code" in value ? new JudgeError(value.code, value) : value;
}

function wireError({ code, place, found, wanted, remedy }: JudgeError): WireError {
  return { code, place, found, wanted, remedy };
}
