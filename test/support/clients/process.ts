// A child process that answers lines of JSON: one question in, one answer out, in order.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface LineProcess<Question, Answer> {
  /** Sends a line that gets no answer. */
  tell(line: unknown): void;
  /** Sends a line and gives its answer. @throws Error when the process has ended */
  ask(question: Question): Promise<Answer>;
  /** Ends its standard input and waits until the process has ended. */
  close(): Promise<void>;
}

export function startLineProcess<Question, Answer>(
  command: string,
  parameters: readonly string[],
  env: Readonly<Record<string, string>> = {},
): LineProcess<Question, Answer> {
  const child = spawn(command, parameters, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  const tell = (line: unknown) => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
  };
  return {
    tell,
    ask(question) {
      tell(question);
      const answer = last.then(async () => {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${parameters[0]} has ended`);
        return JSON.parse(value) as Answer;
      });
      last = answer.catch(() => {});
      return answer;
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
