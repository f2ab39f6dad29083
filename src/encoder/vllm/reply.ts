// What a vLLM server's reply says: its JSON, or why it refuses.
import * as z from "zod";
import { JudgeError } from "../../errors.js";

const ErrorReply = z.looseObject({ error: z.looseObject({ message: z.string() }) });

/** null for what is no JSON */
export function parseReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The server's own words are not passed on: they may quote what was sent. */
export function refusalOf(status: number, text: string): JudgeError {
  if (status === 429)
    return new JudgeError("overloaded", {
      found: "the vLLM server is overloaded",
      remedy: "ask again later",
    });
  if (status >= 500) {
    return new JudgeError("encoder_down", {
      found: `the vLLM server answered ${status}`,
      remedy: "see its own log",
    });
  }
  const found = (finding: string, remedy: string) =>
    new JudgeError("encoder_error", { found: `the vLLM server ${finding} (${status})`, remedy });
  const message = ErrorReply.safeParse(parseReply(text)).data?.error.message ?? null;
  if (status === 404) {
    // a path that it does not have is told by another envelope
    return message === null
      ? found("has no such path under base_url", "end base_url with the server's /v1")
      : found("does not know the model", "set served_model to a name of its /v1/models");
  }
  if (status === 401 || status === 403)
    return found("refused the API key", "set api_key_env to the variable that holds it");
  return /maximum context length|max_model_len|longer than the maximum/i.test(message ?? "")
    ? found("takes fewer tokens than were sent", "lower the judge's max_tokens")
    : found("refused the request", "see its own log");
}
