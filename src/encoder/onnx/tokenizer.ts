// Text → token ids by a view. The user's text is tokenised without the special tokens, so that a text that spells
// `<|im_end|>` or `[CLS]` stays text; the template's own ids are made once. Reads no file.
import { PreTrainedTokenizer } from "@huggingface/transformers";
import { JudgeError } from "../../errors.js";
import type { Tokens, View } from "../encoder.js";
import { cutTokens } from "../truncate.js";

/** The parsed files of a tokenizer folder. */
export interface TokenizerFiles {
  readonly tokenizer: TokenizerJson;
  readonly config: Record<string, unknown>;
  /** Jinja source of the chat template; null for encoders without one */
  readonly chatTemplate: string | null;
}

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
}

export interface TokenizerJson {
  readonly added_tokens?: readonly AddedToken[];
}

/** A template taken apart around the user's text. */
interface Frame {
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  /** the user's text as the template renders it, with the template's plain text around it */
  segment(text: string): string;
  /** the template's plain text at the start and the end of a segment */
  readonly lead: string;
  readonly trail: string;
}

export interface Tokenizer {
  /**
   * @param text already cut to the characters that a view looks at (truncate.ts)
   * @throws JudgeError `encoder_error` for a text the tokenizer cannot take
   */
  tokenize(text: string, view: View): Tokens;
  /** Tokens a view needs beside the user's text; `maxTokens` must exceed it. */
  frameSize(template: View["template"]): number;
}

/**
 * @throws JudgeError `encoder` when the tokenizer cannot be built, or when tokenising the parts one by one does not
 *   give the ids of the whole (checked on a few texts)
 */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const specialTokens = (files.tokenizer.added_tokens ?? []).filter((token) => token.special);
  const specialIds = new Set(specialTokens.map((token) => token.id));
  const plain = buildTokenizer(
    {
      ...files.tokenizer,
      added_tokens: (files.tokenizer.added_tokens ?? []).filter((token) => !token.special),
    },
    files.config,
  );
  const buildWhole = () => buildTokenizer(files.tokenizer, files.config);
  const whole = buildWhole();
  const unknownId = whole.unk_token_id as number | undefined;

  /** Ids of user text; a special id that the vocabulary itself yields becomes the unknown token. */
  const plainIds = (text: string): number[] => {
    const ids = plain.encode(text, { add_special_tokens: false });
    if (!ids.some((id) => specialIds.has(id) && id !== unknownId)) return ids;
    return ids.flatMap((id) => (!specialIds.has(id) ? [id] : unknownId === undefined ? [] : [unknownId]));
  };

  const bare = bareFrame(whole);
  checkFrame(bare, plainIds, (text) => whole.encode(text));
  /** by the template's arguments; few, since they come from checkpoints */
  const chatFrames = new Map<string, Frame>();
  const chatFrameFor = (templateArguments: object, tokenizer: PreTrainedTokenizer): Frame => {
    const render = (text: string) => renderChat(tokenizer, files.chatTemplate!, templateArguments, text);
    const frame = chatFrame(tokenizer, specialTokens, render);
    checkFrame(frame, plainIds, (text) => tokenizer.encode(render(text), { add_special_tokens: false }));
    return frame;
  };
  if (files.chatTemplate !== null) chatFrames.set("{}", chatFrameFor({}, whole));

  const frameOf = ({
    template,
    templateArguments = {},
  }: Pick<View, "template" | "templateArguments">): Frame => {
    if (template === "none") return bare;
    if (files.chatTemplate === null) {
      throw new JudgeError("encoder", "the encoder has no chat template, but the judge's view wants one");
    }
    const key = JSON.stringify(templateArguments);
    const frame = chatFrames.get(key) ?? chatFrameFor(templateArguments, buildWhole());
    chatFrames.set(key, frame);
    return frame;
  };

  return {
    tokenize(text, view) {
      if (typeof text !== "string") throw new JudgeError("encoder_error", "only a string can be tokenised");
      const frame = frameOf(view);
      const parts = {
        prefix: frame.prefixIds,
        text: plainIds(frame.segment(text)),
        suffix: frame.suffixIds,
        lead: plainIds(frame.lead).length,
        trail: plainIds(frame.trail).length,
        suffixIsText: view.template === "chat",
      };
      return cutTokens(parts, view.maxTokens, view.truncation);
    },
    frameSize(template) {
      const frame = frameOf({ template });
      return frame.prefixIds.length + frame.suffixIds.length + plainIds(frame.segment("")).length;
    },
  };
}

function buildTokenizer(tokenizer: TokenizerJson, config: Record<string, unknown>): PreTrainedTokenizer {
  try {
    return new PreTrainedTokenizer(tokenizer, config);
  } catch (error) {
    throw new JudgeError("encoder", "tokenizer.json is not a tokenizer that Transformers.js can build", {
      cause: error,
    });
  }
}

function renderChat(
  tokenizer: PreTrainedTokenizer,
  chatTemplate: string,
  templateArguments: object,
  text: string,
): string {
  const rendered = tokenizer.apply_chat_template([{ role: "user", content: text }], {
    ...templateArguments,
    chat_template: chatTemplate,
    add_generation_prompt: true,
    tokenize: false,
  });
  return rendered as string;
}

/** No template: only what the tokenizer's post-processor puts around a text, such as [CLS] and [SEP]. */
function bareFrame(whole: PreTrainedTokenizer): Frame {
  const sample = "a";
  const inner = whole.encode(sample, { add_special_tokens: false });
  const outer = whole.encode(sample);
  const start = outer.findIndex((_, index) => inner.every((id, offset) => outer[index + offset] === id));
  if (start < 0)
    throw new JudgeError(
      "encoder",
      "the tokenizer's post-processor rewrites the text; that is not supported",
    );
  return {
    prefixIds: outer.slice(0, start),
    suffixIds: outer.slice(start + inner.length),
    segment: (text) => text,
    lead: "",
    trail: "",
  };
}

function chatFrame(
  whole: PreTrainedTokenizer,
  specialTokens: readonly AddedToken[],
  render: (text: string) => string,
): Frame {
  const marker = "\u{F8FF}user text\u{F8FF}";
  const pieces = render(marker).split(marker);
  if (pieces.length !== 2) {
    throw new JudgeError(
      "encoder",
      `the chat template renders the user's text ${pieces.length - 1} times, wanted once`,
    );
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
        throw new JudgeError("encoder_error", "the chat template changes its own text with the user's text");
      }
      let segment = rendered.slice(prefixEnd, rendered.length - (after.length - suffixStart));
      if (trimStart) segment = segment.trimStart();
      if (trimEnd) segment = segment.trimEnd();
      return segment;
    },
  };
}

function checkFrame(
  frame: Frame,
  plainIds: (text: string) => number[],
  wholeIds: (text: string) => number[],
): void {
  for (const text of ["Hello, world", "\n two  words\n", "1½ x² = 数"]) {
    const composed = [...frame.prefixIds, ...plainIds(frame.segment(text)), ...frame.suffixIds];
    if (composed.join() !== wholeIds(text).join()) {
      throw new JudgeError(
        "encoder",
        "the tokenizer's ids of template and text do not add up to the ids of the whole; this tokenizer is not supported",
      );
    }
  }
}
