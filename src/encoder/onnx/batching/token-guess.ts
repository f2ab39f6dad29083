// How many tokens a text will be: by its bytes, at the rate of earlier texts. Pure.

export interface TokenGuess {
  /** @param bounds of the view: tokens around the text, and of all at most */
  guess(bytes: number, bounds: { readonly template: number; readonly most: number }): number;
  /** A whole text of so many bytes was so many tokens, those around it not counted. */
  learn(bytes: number, tokens: number): void;
}

/** What is taken for known at first: English is 4 to 5 bytes a token, code about 3. */
const firstRate = { bytes: 1000, tokens: 250 };
/** How much of what was known stays with each text. */
const memory = 0.95;
/** Shorter texts tell nothing of longer ones: "Hi 7" has more tokens than its bytes promise. */
const leastBytes = 200;

export function createTokenGuess(): TokenGuess {
  let { bytes: knownBytes, tokens: knownTokens } = firstRate;
  return {
    guess(bytes, { template, most }) {
      return Math.min(most, template + 1 + Math.ceil((bytes * knownTokens) / knownBytes));
    },
    learn(bytes, tokens) {
      if (bytes < leastBytes) return;
      knownBytes = memory * knownBytes + bytes;
      knownTokens = memory * knownTokens + Math.max(0, tokens);
    },
  };
}
