// Text → token ids by a view. The user's text is tokenised without the special tokens, so that a text that
// spells `<|im_end|>` or `[CLS]` stays text; the template's own ids are made once. Reads no file.
import { PreTrainedTokenizer } from "@huggingface/transformers";
import { JudgeError } from "../../errors.js";
import { runBounded } from "../../input/bounded-run.js";
import type { Tokens } from "../encoder.js";
import type { View } from "../view.js";
import { bertLetters } from "./bert-letters.js";
import { chatRenderer, someDate } from "./chat-template.js";
import { createReadableCheck, type TemplateWords } from "./readable-tokens.js";
import {
  type AddedToken,
  bareTemplateTokens,
  chatTemplateTokens,
  checkTemplateTokens,
  type TemplateTokens,
} from "./template-tokens.js";
import { cutTokens } from "./truncate.js";

/** The parsed files of a tokenizer folder. */
export interface TokenizerFiles {
  readonly tokenizer: TokenizerJson;
  readonly config: Record<string, unknown>;
  /** Jinja source of the chat template; null for encoders without one */
  readonly chatTemplate: string | null;
}

export interface TokenizerJson {
  readonly added_tokens?: readonly AddedToken[];
  readonly normalizer?: unknown;
}

type TemplateChoice = Pick<View, "template" | "templateArguments">;
type TemplateArguments = NonNullable<View["templateArguments"]>;

/** A template taken apart, with what all its texts have in common. */
interface Template extends TemplateTokens {
  readonly words: TemplateWords;
  readonly sharedPrefix: readonly number[];
}

export interface Tokenizer {
  /**
   * @param text already cut to the characters that a view looks at (truncate.ts)
   * @throws JudgeError `encoder_error` for a text the tokenizer cannot take
   */
  tokenize(text: string, view: View): Tokens;
  /** Tokens a view needs beside the user's text; `maxTokens` must exceed it. */
  templateSize(template: View["template"]): number;
  /** the ids that every text of the view starts with, unless a text merges with the template's last id */
  sharedPrefix(view: TemplateChoice): readonly number[];
}

/** To take a template apart: a hundredth is enough. */
const templateMs = 1000;

/**
 * @throws JudgeError `encoder` when the tokenizer cannot be built, or when tokenising the parts one by one
 *   does not give the ids of the whole (checked on a few texts)
 */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  try {
    return assembleTokenizer(files);
  } catch (error) {
    throw error instanceof JudgeError ? error : unusable(error);
  }
}

function assembleTokenizer(files: TokenizerFiles): Tokenizer {
  const specialTokens = (files.tokenizer.added_tokens ?? []).filter((token) => token.special);
  const specialIds = new Set(specialTokens.map((token) => token.id));
  const plain = buildTokenizer(
    {
      ...files.tokenizer,
      added_tokens: (files.tokenizer.added_tokens ?? []).filter((token) => !token.special),
    },
    files.config,
  );
  const whole = buildTokenizer(files.tokenizer, files.config);
  const repair = bertLetters(files.tokenizer.normalizer);
  const unknownId = whole.unk_token_id as number | undefined;

  /** Ids of user text; a special id that the vocabulary itself yields becomes the unknown token. */
  const plainIds = (text: string): number[] => {
    const ids = plain.encode(repair(text), { add_special_tokens: false });
    if (!ids.some((id) => specialIds.has(id) && id !== unknownId)) return ids;
    return ids.flatMap((id) => (!specialIds.has(id) ? [id] : unknownId === undefined ? [] : [unknownId]));
  };

  const complete = (template: TemplateTokens, wholeIds: (text: string) => number[]): Template => {
    checkTemplateTokens(template, plainIds, wholeIds);
    const words = { lead: plainIds(template.lead), trail: plainIds(template.trail) };
    const [first, second] = ["Hello", "7"].map((text) => [
      ...template.prefixIds,
      ...plainIds(template.segment(text)),
    ]) as [number[], number[]];
    const different = first.findIndex((id, index) => id !== second[index]);
    return { ...template, words, sharedPrefix: first.slice(0, different) };
  };
  const bare = runBounded(templateMs, endless, () =>
    complete(bareTemplateTokens(whole), (text) => whole.encode(text)),
  );
  const chatTemplate = (source: string, templateArguments: TemplateArguments): Template =>
    runBounded(templateMs, endless, () => {
      const render = chatRenderer(whole, { source, templateArguments });
      return complete(chatTemplateTokens(whole, specialTokens, render), (text) =>
        whole.encode(render(text), { add_special_tokens: false }),
      );
    });
  /** by the template's arguments; few, since they come from checkpoints */
  const chatTemplates = new Map<string, Template>();
  /** without arguments; but a template that prints the date has to be told one */
  const measured = files.chatTemplate === null ? bare : chatTemplate(files.chatTemplate, someDate);

  const templateOf = ({ template, templateArguments = {} }: TemplateChoice): Template => {
    if (template === "none") return bare;
    if (files.chatTemplate === null) {
      throw new JudgeError("encoder", {
        found: "the encoder has no chat template, but the judge's view wants one",
      });
    }
    const key = JSON.stringify(templateArguments);
    const found = chatTemplates.get(key) ?? chatTemplate(files.chatTemplate, templateArguments);
    chatTemplates.set(key, found);
    return found;
  };

  const isReadable = createReadableCheck({
    decode: (ids) => plain.decode(ids, { clean_up_tokenization_spaces: false }),
    unknownId,
  });

  return {
    tokenize(text, view) {
      if (typeof text !== "string")
        throw new JudgeError("encoder_error", { found: "only a string can be tokenised" });
      const { prefixIds: prefix, suffixIds: suffix, words, segment } = templateOf(view);
      const parts = {
        prefix,
        text: plainIds(segment(text)),
        suffix,
        lead: words.lead.length,
        trail: words.trail.length,
        suffixIsText: view.template === "chat",
      };
      const cut = cutTokens(parts, view.maxTokens, view.truncation);
      return isReadable(cut.ids, parts, words, view) ? cut : { ...cut, unreadable: true };
    },
    sharedPrefix: (view) => templateOf(view).sharedPrefix,
    templateSize(template) {
      const { prefixIds, suffixIds, segment } = template === "none" ? bare : measured;
      return prefixIds.length + suffixIds.length + plainIds(segment("")).length;
    },
  };
}

function endless(): JudgeError {
  return new JudgeError("encoder", {
    found: `the chat template, or a pattern of tokenizer.json, has not ended after ${templateMs} ms`,
    remedy: "restore both from the encoder's original files",
  });
}

function buildTokenizer(tokenizer: TokenizerJson, config: Record<string, unknown>): PreTrainedTokenizer {
  try {
    return new PreTrainedTokenizer(tokenizer, config);
  } catch (error) {
    throw unusable(error);
  }
}

function unusable(cause: unknown): JudgeError {
  return new JudgeError("encoder", {
    found: "tokenizer.json is not a tokenizer that Transformers.js can use",
    cause,
  });
}
