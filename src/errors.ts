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
  // conditions under which a well-formed request cannot be judged (failureReasons in judge/abstention-reasons.ts)
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

/** What an error says, each a clause without its final stop. None of them holds anything that a user typed. */
export interface ErrorText {
  readonly found: string;
  readonly wanted?: string | null | undefined;
  /** what to do next */
  readonly remedy?: string | null | undefined;
}

export interface ErrorOptions {
  readonly cause?: unknown;
  /** where in the request the fault lies, as a path such as `messages[0].content` */
  readonly param?: string | undefined;
}

/** An error that may be shown to whoever caused it. Its message is its finding in one line. */
export class JudgeError extends Error {
  override readonly name = "JudgeError";
  readonly found: string;
  readonly wanted: string | null;
  readonly remedy: string | null;
  /** null when the fault has no place in the request */
  readonly param: string | null;

  constructor(
    readonly code: ErrorCode,
    { found, wanted = null, remedy = null }: ErrorText,
    { cause, param }: ErrorOptions = {},
  ) {
    super(render({ found, wanted, remedy }), cause === undefined ? undefined : { cause });
    this.found = oneLine(found);
    this.wanted = wanted === null ? null : oneLine(wanted);
    this.remedy = remedy === null ? null : oneLine(remedy);
    this.param = param ?? null;
  }

  /** The same error of one part of a whole, such as `encoder minilm`. */
  within(place: string): JudgeError {
    const { code, found, wanted, remedy } = this;
    return new JudgeError(code, { found: `${place}: ${found}`, wanted, remedy }, { cause: this });
  }
}

function render({ found, wanted, remedy }: ErrorText): string {
  const whole = wanted === null ? found : `${found}, wanted ${wanted}`;
  return oneLine(remedy === null ? whole : `${whole}; ${remedy}`);
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** `error` itself if it is ours, otherwise a JudgeError `internal` that keeps it as its cause. */
export function asJudgeError(error: unknown): JudgeError {
  return error instanceof JudgeError
    ? error
    : new JudgeError(
        "internal",
        { found: "internal error of the judge", remedy: "see its log" },
        { cause: error },
      );
}

/**
 * A message with absolute paths cut to their last part: logs and answers tell no paths. Of two paths in one clause, what
 * stands between them is cut too.
 */
export function withoutPaths(message: string): string {
  return message.replace(/(^|[\s"'(])\/[^:;,"]*\//g, "$1");
}
