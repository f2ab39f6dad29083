// Checks that an error is what every refusal must be: the project's error with its code, on one line.
import assert from "node:assert/strict";
import { type ErrorCode, JudgeError } from "../../src/errors.js";

/** The error that `action` throws. The test fails if it throws none or another one. */
export function refusal(code: ErrorCode, action: () => unknown): JudgeError {
  try {
    action();
  } catch (error) {
    return checked(code, error);
  }
  assert.fail(`nothing was refused, wanted ${code}`);
}

/** The error with which `promise` rejects. The test fails if it resolves. */
export async function rejection(code: ErrorCode, promise: Promise<unknown>): Promise<JudgeError> {
  const outcome = await promise.then(
    () => null,
    (error: unknown) => ({ error }),
  );
  if (outcome === null) assert.fail(`nothing was refused, wanted ${code}`);
  return checked(code, outcome.error);
}

function checked(code: ErrorCode, error: unknown): JudgeError {
  if (!(error instanceof JudgeError)) throw error;
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(error.message, /[\p{Cc}\p{Zl}\p{Zp}]/u, "a message is one line");
  return error;
}
