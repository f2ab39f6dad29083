// The rules by which Switchyard 0.3.0 reads a verdict (facts/switchyard.md): exactly four keys, a rule and a
// boundary that belong together, a probability.
import assert from "node:assert/strict";

const boundaries: Readonly<Record<string, string>> = {
  SUP: "supported",
  UNC: "uncertain",
  LIM: "unsupported",
  none: "unmatched",
};

export interface WireVerdict {
  readonly crux: string;
  readonly primary_rule: string;
  readonly capability_boundary: string;
  readonly p_solve: number;
}

/** The parsed verdict. The test fails if a router would refuse it. */
export function readVerdict(content: unknown): WireVerdict {
  assert.equal(typeof content, "string");
  const verdict = JSON.parse(content as string) as WireVerdict;
  assert.deepEqual(Object.keys(verdict), ["crux", "primary_rule", "capability_boundary", "p_solve"]);
  assert.ok(verdict.crux.trim() !== "");
  assert.equal(verdict.capability_boundary, boundaries[verdict.primary_rule.split("-")[0]!]);
  assert.ok(typeof verdict.p_solve === "number" && verdict.p_solve >= 0 && verdict.p_solve <= 1);
  assert.match(content as string, /"p_solve":\d+(\.\d+)?(e-\d+)?\}$/);
  return verdict;
}

export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint: string;
  readonly choices: readonly { index: number; message: { content: string }; finish_reason: string }[];
  readonly usage: Readonly<Record<string, number>>;
  readonly prefill_judge: Readonly<Record<string, unknown>> & {
    readonly milliseconds: Record<string, number>;
  };
}

export async function readCompletion(
  response: Response,
): Promise<{ completion: Completion; verdict: WireVerdict }> {
  assert.equal(response.status, 200);
  const completion = (await response.json()) as Completion;
  return { completion, verdict: readVerdict(completion.choices[0]!.message.content) };
}

/** OpenAI's error envelope. The test fails if the body has another shape. */
export async function readError(
  response: Response,
): Promise<{ message: string; type: string; param: string | null; code: string }> {
  assert.equal(response.headers.get("content-type"), "application/json");
  const body = (await response.json()) as {
    error: { message: string; type: string; param: string | null; code: string };
  };
  assert.deepEqual(Object.keys(body), ["error"]);
  assert.deepEqual(Object.keys(body.error), ["message", "type", "param", "code"]);
  assert.ok(!/context (length|window)|maximum context/i.test(body.error.message));
  assert.ok(response.headers.get("x-request-id"));
  return body.error;
}
