// What a reply under load may be: the probability that the prompt has when it is asked alone, or an
// abstention that is marked as one. Anything else fails.
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { text } from "node:stream/consumers";
import { send } from "../support/server-load.js";
import { readVerdict } from "../support/verdict.js";

/** A prompt, and what a judge says of it when nobody else asks. */
export interface Case {
  readonly judge: string;
  readonly prompt: string;
  readonly pSolve: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const tolerance = 1e-5;
/** Why a request may go unjudged on a server that is short of time, of room, or of its encoder. */
export const loadReasons = ["deadline", "overloaded", "encoder_down"] as const;

export function chatBody({ judge, prompt }: Pick<Case, "judge" | "prompt">, more: object = {}): string {
  return JSON.stringify({ model: judge, messages: [{ role: "user", content: prompt }], ...more });
}

/**
 * null: judged, with the wanted probability (any, when null is wanted); else the reason of the abstention.
 *
 * @throws AssertionError when the reply is anything else
 */
export function checkReply(
  reply: Reply,
  pSolve: number | null,
  allowed: readonly string[] = loadReasons,
): string | null {
  assert.equal(reply.status, 200, reply.body);
  const completion = JSON.parse(reply.body);
  const verdict = readVerdict(completion.choices[0].message.content);
  const facts = completion.prefill_judge;
  assert.equal(reply.headers["x-prefill-judge-abstained"] ?? null, facts.abstained);
  if (facts.abstained !== null) {
    assert.ok(allowed.includes(facts.abstained), `abstained with ${facts.abstained}`);
    assert.deepEqual([facts.p_solve, verdict.primary_rule, verdict.p_solve], [null, "none", 0]);
    return facts.abstained;
  }
  assert.equal(verdict.p_solve, facts.p_solve);
  if (pSolve !== null) {
    const difference = Math.abs(verdict.p_solve - pSolve);
    assert.ok(difference <= tolerance, `p_solve differs by ${difference} from the one asked for alone`);
  }
  return null;
}

/** The reply to one request on a connection of its own. */
export async function askOnce(url: string, asked: Pick<Case, "judge" | "prompt">): Promise<Reply> {
  const agent = new Agent({ keepAlive: false });
  const response = await send(url, agent, { id: "soak-alone", body: chatBody(asked) });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

/** Asks one prompt after the other; every one must be judged. */
export async function askAlone(url: string, judge: string, prompts: readonly string[]): Promise<Case[]> {
  const cases: Case[] = [];
  for (const prompt of prompts) {
    const reply = await askOnce(url, { judge, prompt });
    assert.equal(checkReply(reply, null, []), null);
    cases.push({ judge, prompt, pSolve: JSON.parse(reply.body).prefill_judge.p_solve });
  }
  return cases;
}

/** Asks for every case alone: all must be judged as they were. */
export async function assertJudged(url: string, cases: readonly Case[]): Promise<void> {
  for (const asked of cases) assert.equal(checkReply(await askOnce(url, asked), asked.pSolve, []), null);
}
