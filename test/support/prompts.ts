// Prompts of a given size for the benchmark. Each number has its own prompt, so that no cache answers.

const sentences = [
  "A delivery company keeps its parcels in three warehouses and wants to know which one should serve each order.",
  "The rain stopped at noon, and the children ran to the river to see how high the water had risen.",
  "Given a sorted list of integers, return the two positions whose values add up to a target.",
  "Explain why the sky looks red in the evening, and what would change on a planet with a thicker atmosphere.",
  "The service returns an error after midnight because the clock of one machine is an hour behind.",
  "Write a short letter to a neighbour who has helped you move, and mention the broken lamp with some humour.",
  "A triangle has sides of five, twelve and thirteen; find the radius of the circle that touches all of them.",
  "Compare the two contracts below and name every clause that one has and the other lacks.",
  "Our test fails only when it runs in parallel with others, which points to a file that both of them write.",
  "List the causes of the revolution in the order in which historians of the last century weighed them.",
];

/** A prompt of `wordCount` words; `variant` is a whole number. */
export function promptOfWords(variant: number, wordCount: number): string {
  const words = ["Case", `${100 + variant}:`];
  for (let next = variant; words.length < wordCount; next++) {
    words.push(...sentences[next % sentences.length]!.split(" "));
  }
  return words.slice(0, wordCount).join(" ");
}

/**
 * The longest prompt of a variant that has at most `tokenCount` tokens.
 *
 * @param countTokens tokens that the encoder runs for a text, template included
 */
export function promptOfTokens(
  variant: number,
  tokenCount: number,
  countTokens: (text: string) => number,
): string {
  let fits = 1;
  let tooMany = tokenCount + 1;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (countTokens(promptOfWords(variant, middle)) <= tokenCount) fits = middle;
    else tooMany = middle;
  }
  return promptOfWords(variant, fits);
}
