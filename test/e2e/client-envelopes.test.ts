// Coding agents behind the real Switchyard: whatever API they speak and whatever window the route has, the
// judge is asked about what their user typed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { routesToml } from "../../src/cli/routes/routes-text.js";
import { apiPaths, clientRequests } from "../support/clients/requests.js";
import { type Router, startSwitchyard } from "../support/clients/switchyard-process.js";
import {
  chat,
  type JudgeServer,
  parseConfig,
  startJudgeServer,
  tinyConfig,
} from "../support/judge-server.js";
import { readCompletion } from "../support/verdict.js";

const requests = clientRequests();
const outsideOfTheWindow = "the older user_instructions, and a second turn";

for (const message of ["first", "latest"] as const) {
  const toml = `${tinyConfig}envelopes = "strip"\nmessage = "${message}"\n`;

  describe(`coding agents, message = "${message}"`, () => {
    let server: JudgeServer;
    before(async () => {
      server = await startJudgeServer(toml, { "--deadline-ms": "60000" });
    });
    after(() => server?.close());

    /** The p of the last judgement, as the log has it. */
    const lastJudged = () => {
      const line = server.logLines.findLast((entry) => entry.includes('"judged"'));
      return (JSON.parse(line!) as { p_solve?: number }).p_solve;
    };
    const alone = async (text: string) => {
      const { verdict } = await readCompletion(await server.post("/v1/chat/completions", chat(text)));
      return Math.round(verdict.p_solve * 1e6) / 1e6;
    };

    for (const window of [null, 3]) {
      describe(window === null ? "default window" : `recent_turn_window = ${window}`, () => {
        let router: Router;
        before(async () => {
          const routes = routesToml(parseConfig(toml), server.url);
          router = await startSwitchyard(
            window === null ? routes : `${routes}recent_turn_window = ${window}\n`,
          );
        });
        after(() => router?.close());

        for (const { client, shape, api, body, ...typed } of requests) {
          // by default Switchyard sends the opening message and the latest: where the opening one is all
          // harness, what the user typed first is in neither
          const isOutside = window === null && shape === outsideOfTheWindow;
          test(`${client}: ${shape}`, async () => {
            server.logLines.length = 0;
            assert.equal(await router.post(apiPaths[api], body), 200);
            assert.equal(lastJudged(), await alone(typed[isOutside ? "latest" : message]));
          });
        }
      });
    }
  });
}

test("eight clients at least are among them, and one whose task the default window leaves out", () => {
  assert.ok(requests.some(({ shape }) => shape === outsideOfTheWindow));
  assert.ok(new Set(requests.map(({ client }) => client)).size >= 8);
});
