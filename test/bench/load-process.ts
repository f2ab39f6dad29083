// The load: clients in a closed loop, each asking a new prompt as soon as it has its answer, until told to
// stop. A process of its own, and a nicer one, so that it takes no time from whoever measures.
import { setPriority } from "node:os";
import { promptOfWords } from "../support/prompts.js";
import { createClient } from "./client.js";

export interface LoadStart {
  readonly port: number;
  readonly judge: string;
  readonly clients: number;
}

export interface LoadResult {
  readonly answers: number;
  readonly abstentions: number;
}

/** Words of the prompts, in turn: about 50, 130 and 500 tokens. */
const wordCounts = [30, 90, 380];

let running = false;
let result: Promise<LoadResult>;

async function drive({ port, judge, clients }: LoadStart): Promise<LoadResult> {
  const client = createClient(port, clients);
  const counts = { answers: 0, abstentions: 0 };
  let variant = 0;
  const loop = async () => {
    while (running) {
      const prompt = promptOfWords(variant % 900, wordCounts[variant % wordCounts.length]!);
      variant++;
      const answer = await client.ask(judge, prompt);
      counts.answers++;
      if (answer.abstained !== null) counts.abstentions++;
    }
  };
  await Promise.all(Array.from({ length: clients }, loop));
  client.close();
  return counts;
}

setPriority(5);
process.on("message", async (command: LoadStart | { stop: true }) => {
  if ("stop" in command) {
    running = false;
    process.send!(await result);
  } else {
    running = true;
    result = drive(command);
    process.send!("started");
  }
});
process.on("disconnect", () => process.exit(0));
