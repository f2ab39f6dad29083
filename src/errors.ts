// The project's one error class and its closed table of codes. What a code becomes on the wire is decided
// in http/errors.ts, how the process ends in main.ts.

/** Every way a request or a start can fail. */
export type ErrorCode =
  // requests
  | "invalid_json"
  | "invalid_request"
  | "model_not_found"
  | "not_found"
  | "method_not_allowed"
  | "upgrade_required"
  | "body_too_large"
  | "unsupported_media_type"
  | "request_timeout"
  | "invalid_api_key"
  | "host_not_allowed"
  | "origin_not_allowed"
  | "reload_failed"
  // conditions under which a well-formed request cannot be judged (AbstainReason in verdict/abstention.ts)
  | "deadline"
  | "overloaded"
  | "encoder_down"
  | "encoder_error"
  // the client went away; nobody reads the answer
  | "client_gone"
  // starting and the command line
  | "config"
  | "checkpoint"
  | "encoder"
  | "listen"
  | "usage"
  // a bug of this program
  | "internal";

/**
 * An error whose message may be shown to whoever caused it: one line that says what was found, what was wanted and
 * what to do, and holds nothing that a user typed.
 */
export class JudgeError extends Error {
  override readonly name = "JudgeError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown; param?: string },
  ) {
    super(
      message.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "),
      options?.cause === undefined ? undefined : { cause: options.cause },
    );
    this.param = options?.param ?? null;
  }

  /** Where in the request the fault lies, as a path such as `messages[0].content`; null when it has no place. */
  readonly param: string | null;
}

/** `error` itself if it is ours, otherwise a JudgeError `internal` that keeps it as its cause. */
export function asJudgeError(error: unknown): JudgeError {
  return error instanceof JudgeError
    ? error
    : new JudgeError("internal", "internal error of the judge; see its log", { cause: error });
}

/**
 * A message with absolute paths cut to their last part: logs and answers tell no paths. Of two paths in one clause, what
 * stands between them is cut too.
 */
export function withoutPaths(message: string): string {
  return message.replace(/(^|[\s"'(])\/[^:;,"]*\//g, "$1");
}
