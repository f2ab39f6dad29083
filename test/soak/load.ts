// Clients in a closed loop over kept connections, each asking for a case by chance, every reply checked.
import { Agent } from "node:http";
import { text } from "node:stream/consumers";
import { createRandom } from "../../src/train/numeric/random.js";
import { NotTaken, send } from "../support/server-load.js";
import { type Case, chatBody, checkReply, loadReasons } from "./answers.js";

export interface LoadSettings {
  readonly cases: readonly Case[];
  readonly clients: number;
  readonly seed: number;
  /** reasons for which a request may go unjudged; by default those of load */
  readonly allowed?: readonly string[];
}

export interface LoadOutcome {
  readonly judged: number;
  /** abstentions by reason */
  readonly abstained: Readonly<Record<string, number>>;
  /** from the first byte sent to the last one read, of the slowest reply */
  readonly slowestMs: number;
  /** ids of the requests with a whole reply */
  readonly answered: ReadonlySet<string>;
  /** replies that were lost, cut or wrong */
  readonly faults: readonly string[];
  /** new connections that were not taken any more: what a server that ends may do */
  readonly refusedConnections: number;
}

export interface Load {
  /** replies judged so far */
  readonly judged: number;
  /** What became of all requests, once every client has its last reply. */
  stop(): Promise<LoadOutcome>;
}

export function startLoad(url: string, settings: LoadSettings): Load {
  const { cases, clients, allowed = loadReasons } = settings;
  const random = createRandom(settings.seed);
  const abstained: Record<string, number> = {};
  const answered = new Set<string>();
  const faults: string[] = [];
  let [judged, slowestMs, refusedConnections, stopped] = [0, 0, 0, false];

  async function ask(agent: Agent, id: string): Promise<void> {
    const asked = cases[random.below(cases.length)]!;
    const started = performance.now();
    const response = await send(url, agent, { id, body: chatBody(asked) });
    const reply = { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
    slowestMs = Math.max(slowestMs, performance.now() - started);
    answered.add(id);
    const reason = checkReply(reply, asked.pSolve, allowed);
    if (reason === null) judged++;
    else abstained[reason] = (abstained[reason] ?? 0) + 1;
  }

  async function client(number: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; !stopped; turn++) {
      const id = `soak-${number}-${turn}`;
      try {
        await ask(agent, id);
      } catch (error) {
        if (error instanceof NotTaken) refusedConnections++;
        else faults.push(`${id}: ${String(error).slice(0, 300)}`);
        break;
      }
    }
    agent.destroy();
  }

  const running = Array.from({ length: clients }, (_, number) => client(number));
  return {
    get judged() {
      return judged;
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
      return { judged, abstained, slowestMs, answered, faults, refusedConnections };
    },
  };
}

export function describeLoad({ judged, abstained, slowestMs }: LoadOutcome): string {
  const reasons = Object.entries(abstained).map(([reason, count]) => `${count} ${reason}`);
  const list = reasons.length === 0 ? "none" : reasons.join(", ");
  return `${judged} judged, abstained: ${list}; slowest ${Math.round(slowestMs)} ms`;
}
