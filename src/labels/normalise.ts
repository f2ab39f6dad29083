// When two prompts count as the same: llm-router's rule, on the letters that a reader sees.

export function normaliseText(text: string): string {
  return text
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .toLowerCase()
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .trim();
}
