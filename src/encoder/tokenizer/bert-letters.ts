// Letters that Transformers.js reads otherwise than Python's tokenizers for BERT, put right. Pure.
import * as z from "zod";

/** As tokenizer.json has it; a sequence holds others. */
const Normalizer: z.ZodType<Normalizer> = z.lazy(() =>
  z.looseObject({
    type: z.string(),
    lowercase: z.boolean().nullish(),
    handle_chinese_chars: z.boolean().nullish(),
    normalizers: z.array(Normalizer).nullish(),
  }),
);
interface Normalizer {
  readonly type: string;
  readonly lowercase?: boolean | null | undefined;
  readonly handle_chinese_chars?: boolean | null | undefined;
  readonly normalizers?: readonly Normalizer[] | null | undefined;
}

/** The blocks that tokenizers sets apart, as far as they need two code units. */
const distantHan =
  /[\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;

/**
 * @param normalizer of tokenizer.json
 * @returns what to do with a text before it is encoded
 */
export function bertLetters(normalizer: unknown): (text: string) => string {
  const parts = flatten(Normalizer.safeParse(normalizer).data);
  // letter by letter, so that the end of a word is none
  const lowers = parts.some(
    ({ type, lowercase }) => type === "Lowercase" || (isBert(type) && lowercase === true),
  );
  const splits = parts.some(({ type, handle_chinese_chars: apart }) => isBert(type) && apart === true);
  return (text) => {
    const lowered = lowers ? text.replaceAll("Σ", "σ") : text;
    return splits ? lowered.replace(distantHan, " $& ") : lowered;
  };
}

function isBert(type: string): boolean {
  return type === "BertNormalizer";
}

function flatten(normalizer: Normalizer | undefined): Normalizer[] {
  if (normalizer === undefined) return [];
  return [normalizer, ...(normalizer.normalizers ?? []).flatMap(flatten)];
}
