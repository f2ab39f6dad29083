// What an encoder reads of a text. Imports nothing, since the formats of checkpoints name views too.

/** `chat`: rendered as the only user message of the encoder's chat template; `none`: the text as it is. */
export const templates = ["chat", "none"] as const;
export type Template = (typeof templates)[number];

/** `middle` keeps head and tail of a text; `right` keeps the first tokens, as reference trainers do. */
export const truncations = ["middle", "right"] as const;
export type Truncation = (typeof truncations)[number];

/** `single`: a run of spaces is read as one; `keep`: as it is. */
export const spaceRules = ["single", "keep"] as const;
export type SpaceRule = (typeof spaceRules)[number];

/** What the encoder reads of a text. A head is right only for the view it was trained on. */
export interface View {
  readonly template: Template;
  /** chat_template_kwargs: arguments of the chat template */
  readonly templateArguments?: Readonly<Record<string, unknown>>;
  /** at most this many tokens, the template's and the special ones included */
  readonly maxTokens: number;
  readonly truncation: Truncation;
  /** `single`: a run of spaces is read as one; absent: as it is */
  readonly spaces?: "single";
}
