// The prompts that both routers are asked, and the model that must answer each. The reference probabilities
// of an embedded judge tell which.
import { judgedRows, type ParityRow } from "../fixtures.js";

export const threshold = 0.8;
const weakModel = "mistralai/Mixtral-8x7B-Instruct-v0.1";

export type ModelName = "weak-model" | "strong-model";

export interface RoutedPrompts {
  readonly rows: readonly ParityRow[];
  /** those whose probability is further from the threshold than two runtimes may differ */
  readonly decided: readonly ParityRow[];
  modelOf(row: ParityRow): ModelName;
  isDecided(row: ParityRow): boolean;
  /** a conversation that begins with a prompt for one model and goes on with a prompt for the other */
  readonly conversations: readonly { readonly messages: readonly object[]; readonly model: ModelName }[];
}

export function routedPrompts(
  checkpoint: Parameters<typeof judgedRows>[0],
  tolerance: number,
): RoutedPrompts {
  const rows = judgedRows(checkpoint);
  const modelOf = (row: ParityRow) =>
    row.probabilities[weakModel]! >= threshold ? "weak-model" : "strong-model";
  const isDecided = (row: ParityRow) => Math.abs(row.probabilities[weakModel]! - threshold) > tolerance;
  const decided = rows.filter(isDecided);
  const weak = decided.find((row) => modelOf(row) === "weak-model")!;
  const strong = decided.find((row) => modelOf(row) === "strong-model")!;
  return {
    rows,
    decided,
    modelOf,
    isDecided,
    conversations: [
      { messages: conversation(weak, strong), model: "weak-model" },
      { messages: conversation(strong, weak), model: "strong-model" },
    ],
  };
}

function conversation(first: ParityRow, second: ParityRow): object[] {
  return [
    { role: "system", content: "You are helpful." },
    { role: "user", content: first.prompt },
    { role: "assistant", content: "Understood." },
    { role: "user", content: second.prompt },
  ];
}

/** A message of a user without text. */
export const imageMessage = {
  role: "user",
  content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
};
