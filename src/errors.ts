// The one error class and its closed codes. http/errors.ts knows their statuses.

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
  // conditions under which a well-formed request cannot be judged (failureReasons in
  // judge/abstention-reasons.ts)
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

/** What an error says, each a clause without a final stop. It holds nothing that a user typed. */
export interface ErrorText {
  /** the part of the whole that it is about, such as `encoder minilm` */
  readonly place?: string | null | undefined;
  readonly found: string;
  readonly wanted?: string | null | undefined;
  /** what to do next */
  readonly remedy?: string | null | undefined;
}

export interface ErrorParts extends ErrorText {
  readonly cause?: unknown;
  /** where in the request the fault lies, as a path such as `messages[0].content` */
  readonly param?: string | null | undefined;
}

/** An error that may be shown to whoever caused it. Its message says all its parts in one line. */
export class JudgeError extends Error implements ErrorText {
  override readonly name = "JudgeError";
  readonly place: string | null;
  readonly found: string;
  readonly wanted: string | null;
  readonly remedy: string | null;
  /** the message without its remedy */
  readonly finding: string;
  /** null when the fault has no place in the request */
  readonly param: string | null;

  constructor(
    readonly code: ErrorCode,
    { cause, param = null, ...text }: ErrorParts,
  ) {
    const finding = render(text);
    const whole = text.remedy == null ? finding : `${finding}; ${text.remedy}`;
    super(oneLine(whole)!, cause === undefined ? undefined : { cause });
    this.finding = oneLine(finding)!;
    this.place = oneLine(text.place);
    this.found = oneLine(text.found)!;
    this.wanted = oneLine(text.wanted);
    this.remedy = oneLine(text.remedy);
    this.param = param;
  }

  /** The same error under another code. */
  withCode(code: ErrorCode): JudgeError {
    return new JudgeError(code, { ...this, cause: this });
  }

  /**
   * The same error as one of a larger whole, which its message then names first.
   * @param remedyOtherwise of an error that has none
   */
  within(place: string, remedyOtherwise: string | null = null): JudgeError {
    const { code, found, wanted, param } = this;
    const whole = this.place === null ? place : `${place}: ${this.place}`;
    const remedy = this.remedy ?? remedyOtherwise;
    return new JudgeError(code, { place: whole, found, wanted, remedy, cause: this, param });
  }
}

function render({ place, found, wanted }: ErrorText): string {
  const start = place == null ? "" : `${place}: `;
  return wanted == null ? `${start}${found}` : `${start}${found}, wanted ${wanted}`;
}

function oneLine(text: string | null | undefined): string | null {
  return text?.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ") ?? null;
}

/** `error` itself if it is ours, otherwise a JudgeError `internal` that keeps it as its cause. */
export function asJudgeError(error: unknown): JudgeError {
  return error instanceof JudgeError
    ? error
    : new JudgeError("internal", {
        found: "internal error of the judge",
        remedy: "see its log",
        cause: error,
      });
}

/** A message with each absolute path cut to its last part, since logs and answers tell no paths. */
export function withoutPaths(message: string): string {
  return message.replace(/(^|[\s"'(])\/[^:;,"]*\//g, "$1");
}
