// A route with recent_turn_window closes its judge request with a message of Switchyard's own. The judge
// reads the user's messages alone, the first or the latest, whatever API and mode it is asked in.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { type Router, startSwitchyard } from "../support/clients/switchyard-process.js";
import {
  chat,
  type JudgeServer,
  parseConfig,
  startJudgeServer,
  tinyConfig,
} from "../support/judge-server.js";
import { docRoutes } from "../support/pages.js";
import { readCompletion } from "../support/verdict.js";

const custom = `
[judges.tiny.custom]
pointer = "/decision/target"
targets = { efficient = "weak", capable = "strong" }
policy = "max"
`;
const base = `${tinyConfig.replace("max_tokens", "message = MESSAGE\nmax_tokens")}${custom}`;
const tomlFor = (message: string) => base.replace("MESSAGE", `"${message}"`);

const task = "Prove that there are infinitely many primes.";
const followUp = "thanks, now write it in Lean";
const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
const call = { id: "c1", type: "function", function: { name: "ls", arguments: "{}" } };
const conversations: Readonly<
  Record<string, { first: string | null; latest: string | null; messages: object[] }>
> = {
  "one message": { first: task, latest: task, messages: [{ role: "user", content: task }] },
  "two messages": {
    first: task,
    latest: followUp,
    messages: [
      { role: "user", content: task },
      { role: "assistant", content: "Euclid did." },
      { role: "user", content: followUp },
    ],
  },
  "a tool's turn": {
    first: task,
    latest: task,
    messages: [
      { role: "user", content: task },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "a.py" },
    ],
  },
  "an image alone": { first: null, latest: null, messages: [{ role: "user", content: [image] }] },
  "no user at all": { first: null, latest: null, messages: [{ role: "system", content: "Be brief." }] },
};

/** Routes by mode, each with a window. */
function routes(toml: string, url: string): Record<string, string> {
  const config = parseConfig(toml);
  const capability = routesToml(parseConfig(toml.replace(custom, "")), url);
  const head = capability.slice(0, capability.indexOf("[routes.auto]"));
  return {
    capability: `${capability}recent_turn_window = 3\n`,
    custom: routesToml(config, url).replace("policy =", "recent_turn_window = 3\npolicy ="),
    stage_router: `${head}${docRoutes('type = "stage_router"').replace("threshold_step = 0.0", "threshold_step = 0.0, recent_turn_window = 3").replace("confidence_threshold = 0.5", "confidence_threshold = 0.99")}`,
  };
}

for (const message of ["first", "latest"] as const) {
  describe(`recent_turn_window and message = "${message}"`, () => {
    let server: JudgeServer;
    before(async () => {
      server = await startJudgeServer(tomlFor(message), { "--deadline-ms": "60000" });
    });
    after(() => server?.close());

    /** What the log says of the last judgement. */
    const lastJudged = () => {
      const line = server.logLines.findLast((entry) => entry.includes('"judged"'))!;
      const { p_solve = null, abstained = null } = JSON.parse(line) as {
        p_solve?: number;
        abstained?: string;
      };
      return { pSolve: p_solve, abstained };
    };

    async function check(router: Router): Promise<void> {
      for (const [name, conversation] of Object.entries(conversations)) {
        server.logLines.length = 0;
        assert.equal((await router.ask(conversation.messages)).status, 200, name);
        const found = lastJudged();
        const text = conversation[message];
        if (text === null) {
          assert.deepEqual(found, { pSolve: null, abstained: "no_user_text" }, name);
          continue;
        }
        const { verdict } = await readCompletion(await server.post("/v1/chat/completions", chat(text)));
        const wanted = Math.round(verdict.p_solve * 1e6) / 1e6;
        assert.deepEqual(found, { pSolve: wanted, abstained: null }, name);
      }
    }

    for (const format of ["openai_chat", "openai_responses", "anthropic_messages"]) {
      for (const mode of ["capability", "custom", "stage_router"]) {
        test(`${mode}, ${format}`, async () => {
          const text = routes(tomlFor(message), server.url)[mode]!;
          const router = await startSwitchyard(text.replace("openai_chat", format));
          await check(router).finally(() => router.close());
        });
      }
    }
  });
}
