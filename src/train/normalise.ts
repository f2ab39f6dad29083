// When two prompts count as the same: llm-router's rule, white space collapsed and lower case.

export function normaliseText(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}
