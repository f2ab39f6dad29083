// A chat template with a text as its only user message. Nothing here reads clock, zone or locale.
import type { PreTrainedTokenizer } from "@huggingface/transformers";
import { JudgeError } from "../../errors.js";
import type { View } from "../view.js";

export interface ChatTemplate {
  /** Jinja source */
  readonly source: string;
  /** chat_template_kwargs; `date_string` is also the day that the template's strftime_now tells */
  readonly templateArguments: NonNullable<View["templateArguments"]>;
}

/** Arguments for a template that prints the date, where any day will do. */
export const someDate = { date_string: "26 Jul 2024" };

const dateForms = /^(\d{1,2} [A-Z][a-z]{2,8} \d{4}|[A-Z][a-z]{2,8} \d{1,2}, \d{4}|\d{4}-\d{2}-\d{2})$/;
/** They differ in all that a date can print. */
const twoDays = [new Date("2001-02-03T04:05:06Z"), new Date("2098-11-30T17:58:47Z")] as const;
/** Replaces the one of Transformers.js, which reads the clock. Jinja's trim_blocks removes the newline. */
const ownDate = "{% set strftime_now = strftime_of_the_view %}\n";
const longestFinding = 200;

/**
 * The template as a function of the user's text.
 * @throws JudgeError `encoder` for a template that fails, or that prints the date and is told none
 */
export function chatRenderer(
  tokenizer: PreTrainedTokenizer,
  template: ChatTemplate,
): (text: string) => string {
  const { date_string: given } = template.templateArguments;
  const day = parseDay(given);
  const render = (date: Date) => (text: string) => renderAt(tokenizer, template, date, text);
  const [first, second] = (day === null ? twoDays : [day]).map((date) => sampleOf(render(date)));
  if (second !== undefined && first !== second) {
    throw new JudgeError("encoder", {
      found: `the chat template prints the date, and ${given === undefined ? "chat_template_kwargs name none" : 'date_string is not a day such as "26 Jul 2024"'}`,
      remedy: `fix the day of the view: train, or convert the checkpoint, with --chat-template-kwargs '${JSON.stringify(someDate)}' (of one that is trained already, the day of its training)`,
    });
  }
  return render(day ?? twoDays[0]);
}

function sampleOf(render: (text: string) => string): string {
  try {
    return render("Hello");
  } catch (error) {
    const finding = (error instanceof Error ? error.message : String(error)).slice(0, longestFinding);
    throw new JudgeError("encoder", {
      found: `the chat template fails: ${finding}`,
      remedy: "mend chat_template.jinja, or chat_template in tokenizer_config.json",
      cause: error,
    });
  }
}

function renderAt(
  tokenizer: PreTrainedTokenizer,
  { source, templateArguments }: ChatTemplate,
  date: Date,
  text: string,
): string {
  const options = {
    ...templateArguments,
    strftime_of_the_view: (format: string) => strftime(date, format),
    chat_template: ownDate + source,
    add_generation_prompt: true,
    tokenize: false,
  };
  return tokenizer.apply_chat_template([{ role: "user", content: text }], options) as string;
}

/** `26 Jul 2024`, `July 26, 2024` or `2024-07-26`; null for what is none of them. */
function parseDay(given: unknown): Date | null {
  if (typeof given !== "string" || !dateForms.test(given)) return null;
  const day = new Date(`${given} UTC`);
  return given.split(/\D+/).map(Number).includes(day.getUTCDate()) ? day : null;
}

/** As Python's, in English; a directive that is not known here stays as it is, as in Transformers.js. */
function strftime(date: Date, format: string): string {
  const name = (part: Intl.DateTimeFormatOptions) =>
    date.toLocaleDateString("en-US", { ...part, timeZone: "UTC" });
  const [hours, minutes] = [date.getUTCHours(), date.getUTCMinutes()];
  const directives: Readonly<Record<string, () => string | number>> = {
    Y: () => date.getUTCFullYear(),
    y: () => date.getUTCFullYear() % 100,
    m: () => date.getUTCMonth() + 1,
    d: () => date.getUTCDate(),
    B: () => name({ month: "long" }),
    b: () => name({ month: "short" }),
    A: () => name({ weekday: "long" }),
    a: () => name({ weekday: "short" }),
    H: () => hours,
    I: () => hours % 12 || 12,
    M: () => minutes,
    S: () => date.getUTCSeconds(),
    p: () => (hours < 12 ? "AM" : "PM"),
    "%": () => "%",
  };
  return format.replace(/%(-?)([a-zA-Z%])/g, (whole, bare: string, letter: string) => {
    const value = directives[letter]?.() ?? whole;
    return bare === "-" ? String(value) : String(value).padStart(typeof value === "number" ? 2 : 0, "0");
  });
}
