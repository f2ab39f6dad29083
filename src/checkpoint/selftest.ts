// Reads and writes selftest.json: a few prompts with the token ids and probabilities of the reference
// implementation, and the SHA-256 of the files behind them. judge/selftest.ts checks them at every load.
import * as z from "zod";
import { parseJsonPart } from "./parse-json-part.js";

const probability = z.number().min(0).max(1);

const Selftest = z.strictObject({
  format_version: z.literal(1),
  /** what computed the probabilities */
  reference: z.string().min(1),
  /** the largest difference of a probability that is accepted */
  tolerance: z.number().positive().max(0.05),
  /** SHA-256 in hexadecimal by path in the checkpoint folder; `encoder/NAME` is a file of the encoder */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  prompts: z
    .array(
      z.strictObject({
        prompt: z.string().min(1),
        input_ids: z.array(z.int().nonnegative()).min(1),
        probabilities: z.record(z.string(), probability),
      }),
    )
    .min(1),
});

export interface Selftest {
  /** what computed the probabilities */
  readonly reference: string;
  readonly tolerance: number;
  readonly files: Readonly<Record<string, string>>;
  readonly prompts: readonly {
    readonly prompt: string;
    readonly inputIds: readonly number[];
    readonly probabilities: Readonly<Record<string, number>>;
  }[];
}

/** @throws JudgeError `checkpoint` naming the field that is wrong */
export function parseSelftest(content: unknown): Selftest {
  const { reference, tolerance, files, prompts } = parseJsonPart(Selftest, content, {
    file: "selftest.json",
  });
  return {
    reference,
    tolerance,
    files,
    prompts: prompts.map(({ prompt, input_ids, probabilities }) => ({
      prompt,
      inputIds: input_ids,
      probabilities,
    })),
  };
}

/** The selftest.json of a converted checkpoint. Of the files, it names only those of the encoder. */
export function writeSelftest({ reference, tolerance, files, prompts }: Selftest): Uint8Array {
  const content: z.infer<typeof Selftest> = {
    format_version: 1,
    reference,
    tolerance,
    files: Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith("encoder/"))),
    prompts: prompts.map(({ prompt, inputIds, probabilities }) => ({
      prompt,
      input_ids: [...inputIds],
      probabilities: { ...probabilities },
    })),
  };
  return new TextEncoder().encode(`${JSON.stringify(content, null, 1)}\n`);
}
