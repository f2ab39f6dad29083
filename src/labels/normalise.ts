// When two prompts count as the same: llm-router's rule, white space collapsed and lower case, on the letters
// that a reader sees. What is invisible goes, and a letter is one whether it is composed or not.

export function normaliseText(text: string): string {
  return text
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .toLowerCase()
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .trim();
}
