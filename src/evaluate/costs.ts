// What a request costs by output: a number, or prices of tokens times the tokens of a usual request.
import * as z from "zod";
import { JudgeError } from "../errors.js";
import { wanted } from "../labels/json-rows.js";
import { quoted } from "../labels/label-record.js";

/** In one unit for all outputs; null where nothing is known. */
export type Costs = Readonly<Record<string, number>> | null;

/** As llm-router's pool_config gives them. */
const inputPrice = "cost_per_m_input_tokens";
const outputPrice = "cost_per_m_output_tokens";

const usual = wanted("a number of 0 or more");
const price = z.number(usual).nonnegative(usual);
const TokenPrices = z.strictObject(
  { [inputPrice]: price, [outputPrice]: price },
  {
    error: ({ code }) =>
      code === "unrecognized_keys"
        ? `found another key, wanted ${inputPrice} and ${outputPrice}; a name with dots stands in quotes`
        : `found no table, wanted one with ${inputPrice} and ${outputPrice}`,
  },
);
const request = wanted(`a number of 0 or more, or a table with ${inputPrice} and ${outputPrice}`);
const RequestCost = z.number(request).nonnegative(request);
const CostTable = z.record(z.string(), z.unknown(), wanted("a table with a cost for each output"));
type TokenPrices = z.infer<typeof TokenPrices>;

/** All of one kind. */
export type GivenCosts =
  | { readonly kind: "request"; readonly byOutput: ReadonlyMap<string, number> }
  | { readonly kind: "tokens"; readonly byOutput: ReadonlyMap<string, TokenPrices> };

/** Tokens of a usual request. */
export interface RequestTokens {
  readonly prompt: number;
  /** by output; null: not known */
  readonly answer: ReadonlyMap<string, number | null>;
}

/** @throws JudgeError `usage` naming the output whose cost is none */
export function parseCosts(content: unknown): GivenCosts {
  const requests = new Map<string, number>();
  const tokens = new Map<string, TokenPrices>();
  check(null, CostTable, content);
  // the schema would drop __proto__, which is then an output that nobody has
  for (const [output, value] of Object.entries(content as object)) {
    if (typeof value === "object" && value !== null) tokens.set(output, check(output, TokenPrices, value));
    else requests.set(output, check(output, RequestCost, value));
  }
  if (tokens.size === 0) return { kind: "request", byOutput: requests };
  if (requests.size === 0) return { kind: "tokens", byOutput: tokens };
  const [first] = requests.keys();
  throw new JudgeError("usage", {
    found: `${quoted(first!)} has a number, others have prices of tokens`,
    remedy: "give all outputs one or the other",
  });
}

function check<T>(output: string | null, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const place = [...(output === null ? [] : [quoted(output)]), ...path.map(String)].join(", ");
  throw new JudgeError("usage", { found: place === "" ? message : `${place}: ${message}` });
}

/**
 * The cost of a request for each of `outputs`, in the unit of the given costs.
 * @throws JudgeError `usage` for an output without cost, or without the tokens of its answers where they are
 *   needed
 */
export function requestCosts(
  given: GivenCosts,
  outputs: readonly string[],
  tokens: RequestTokens,
): Record<string, number> {
  const costOf = (output: string): number => {
    if (given.kind === "request") return known(given.byOutput, output);
    const prices = known(given.byOutput, output);
    const answer = tokens.answer.get(output) ?? null;
    if (answer !== null) return (prices[inputPrice] * tokens.prompt + prices[outputPrice] * answer) / 1e6;
    throw new JudgeError("usage", {
      found: `the labels have no output_tokens of ${quoted(output)}, which prices of tokens need`,
      remedy: "give the cost of a request",
    });
  };
  return Object.fromEntries(outputs.map((output) => [output, costOf(output)]));
}

function known<T>(byOutput: ReadonlyMap<string, T>, output: string): T {
  const value = byOutput.get(output);
  if (value !== undefined) return value;
  throw new JudgeError("usage", {
    found: `${quoted(output)} has no cost`,
    remedy: "give one to every output",
  });
}
