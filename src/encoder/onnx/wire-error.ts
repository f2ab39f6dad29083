// A JudgeError on its way between the processes.
import { type ErrorCode, JudgeError } from "../../errors.js";

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
}

export function toWire<T>(value: T | JudgeError): T | WireError {
  return value instanceof JudgeError ? { code: value.code, message: value.message } : value;
}

export function fromWire<T extends object>(value: T | WireError): T | JudgeError {
  return "code" in value ? new JudgeError(value.code, value.message) : value;
}
