// A template taken apart: the ids around the text are made once, the text is tokenised alone.
import type { PreTrainedTokenizer } from "@huggingface/transformers";
import { JudgeError } from "../../errors.js";

/** An entry of added_tokens in tokenizer.json. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
}

/** A template taken apart around the user's text. */
export interface TemplateTokens {
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  /** the user's text as the template renders it, with the template's plain text around it */
  segment(text: string): string;
  /** the template's plain text at the start and the end of a segment */
  readonly lead: string;
  readonly trail: string;
}

/** No template: only what the tokenizer's post-processor puts around a text, such as [CLS] and [SEP]. */
export function bareTemplateTokens(whole: PreTrainedTokenizer): TemplateTokens {
  const sample = "a";
  const inner = whole.encode(sample, { add_special_tokens: false });
  const outer = whole.encode(sample);
  const start = outer.findIndex((_, index) => inner.every((id, offset) => outer[index + offset] === id));
  if (start < 0)
    throw new JudgeError("encoder", {
      found: "the tokenizer's post-processor rewrites the text",
      remedy: "that is not supported",
    });
  return {
    prefixIds: outer.slice(0, start),
    suffixIds: outer.slice(start + inner.length),
    segment: (text) => text,
    lead: "",
    trail: "",
  };
}

/**
 * @param render the chat template with a text as its only user message
 * @throws JudgeError `encoder` when the template does not render the text exactly once
 */
export function chatTemplateTokens(
  whole: PreTrainedTokenizer,
  specialTokens: readonly AddedToken[],
  render: (text: string) => string,
): TemplateTokens {
  const marker = "\u{F8FF}user text\u{F8FF}";
  const pieces = render(marker).split(marker);
  if (pieces.length !== 2) {
    throw new JudgeError("encoder", {
      found: `the chat template renders the user's text ${pieces.length - 1} times`,
      wanted: "once",
    });
  }
  const [before, after] = pieces as [string, string];
  let prefixEnd = 0;
  let suffixStart = after.length;
  let trimStart = false;
  let trimEnd = false;
  for (const token of specialTokens) {
    const last = before.lastIndexOf(token.content);
    if (last >= 0 && last + token.content.length > prefixEnd) {
      prefixEnd = last + token.content.length;
      trimStart = token.rstrip === true;
    }
    const first = after.indexOf(token.content);
    if (first >= 0 && first < suffixStart) {
      suffixStart = first;
      trimEnd = token.lstrip === true;
    }
  }
  return {
    prefixIds: whole.encode(before.slice(0, prefixEnd), { add_special_tokens: false }),
    suffixIds: whole.encode(after.slice(suffixStart), { add_special_tokens: false }),
    lead: before.slice(prefixEnd),
    trail: after.slice(0, suffixStart),
    segment(text) {
      const rendered = render(text);
      if (!rendered.startsWith(before) || !rendered.endsWith(after)) {
        throw new JudgeError("encoder_error", {
          found: "the chat template changes its own text with the user's text",
        });
      }
      let segment = rendered.slice(prefixEnd, rendered.length - (after.length - suffixStart));
      if (trimStart) segment = segment.trimStart();
      if (trimEnd) segment = segment.trimEnd();
      return segment;
    },
  };
}

/** @throws JudgeError `encoder` when the parts' ids do not add up to those of the whole, on a few texts */
export function checkTemplateTokens(
  templateTokens: TemplateTokens,
  plainIds: (text: string) => number[],
  wholeIds: (text: string) => number[],
): void {
  for (const text of ["Hello, world", "\n two  words\n", "1½ x² = 数"]) {
    const composed = [
      ...templateTokens.prefixIds,
      ...plainIds(templateTokens.segment(text)),
      ...templateTokens.suffixIds,
    ];
    if (composed.join() !== wholeIds(text).join()) {
      throw new JudgeError("encoder", {
        found: "the tokenizer's ids of template and text do not add up to the ids of the whole",
        remedy: "this tokenizer is not supported",
      });
    }
  }
}
