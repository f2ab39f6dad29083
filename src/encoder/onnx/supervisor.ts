// Keeps one encoder process alive: starts it, restarts it with back-off, sends what was in flight again once, and
// lets callers stop waiting. Knows nothing of texts or models.
import type { ChildProcess } from "node:child_process";
import { JudgeError } from "../../errors.js";
import { ProcessLost } from "./process-lost.js";
import type { Answer, Command, LoadedFacts, Report, Work } from "./protocol.js";
import type { Supervisor, SupervisorParts } from "./supervisor-parts.js";

interface Job {
  readonly id: number;
  readonly work: Work;
  /** runs that are left */
  attempts: number;
  settled: boolean;
  succeed(answer: Answer): void;
  /** @param error a JudgeError, or the reason of the caller's signal */
  fail(error: unknown): void;
}

const defaultBackOffMs = [50, 250, 1000, 3000, 10_000];

export function createSupervisor(parts: SupervisorParts): Supervisor {
  const { backOffMs = defaultBackOffMs, hangMs = 60_000, steadyMs = 10_000 } = parts;
  /** one at a time: how long the job that runs may take, or how long the process must live to count as steady */
  let watchdog: NodeJS.Timeout | undefined;
  let steadyTimer: NodeJS.Timeout | undefined;
  let child: ChildProcess | null = null;
  let state: "new" | "loading" | "up" | "down" | "closed" = "new";
  let waiting: Job[] = [];
  let running: Job | null = null;
  let nextId = 1;
  let failuresInARow = 0;
  let launchedMs = 0;
  let restarts = 0;
  let restartTimer: NodeJS.Timeout | undefined;
  let refusal: string | null = null;
  let firstLoad: { resolve(facts: LoadedFacts): void; reject(error: JudgeError): void } | null = null;

  const encoderDown = () =>
    new JudgeError("encoder_down", "the encoder is not running; it is being restarted");

  function launch(): void {
    state = "loading";
    launchedMs = performance.now();
    let launched: ChildProcess;
    try {
      launched = parts.spawn();
    } catch {
      lost(null, null);
      return;
    }
    child = launched;
    launched.on("message", (report: Report) => {
      if (child === launched) receive(report);
    });
    launched.on("error", () => {
      // a process that could not be started has no exit event
      if (launched.pid !== undefined) launched.kill("SIGKILL");
      else if (child === launched) lost(null, null);
    });
    launched.once("exit", (code, signal) => {
      if (child === launched) lost(code, signal);
    });
    send(parts.load());
  }

  function send(command: Command): void {
    // a failed send means that the process is gone, and so does no channel: without file descriptors to spare none was started
    if (child?.connected) child.send(command, () => {});
  }

  function receive(report: Report): void {
    if (state === "closed") return;
    if (report.kind === "loaded") {
      state = "up";
      steadyTimer = setTimeout(() => {
        failuresInARow = 0;
      }, steadyMs).unref();
      parts.events.up(report.facts, { restarts, loadMs: performance.now() - launchedMs });
      firstLoad?.resolve(report.facts);
      firstLoad = null;
      next();
    } else if (report.kind === "failed") {
      if (firstLoad !== null) {
        state = "closed";
        firstLoad.reject(new JudgeError(report.error.code, report.error.message));
        firstLoad = null;
      }
      refusal = report.error.message;
      child?.kill("SIGKILL");
    } else if (running?.id === report.id) {
      const job = running;
      running = null;
      clearTimeout(watchdog);
      failuresInARow = 0;
      job.succeed(report.answer);
      next();
    }
  }

  function lost(code: number | null, signal: string | null): void {
    child = null;
    clearTimeout(watchdog);
    clearTimeout(steadyTimer);
    if (state === "closed") return;
    const diedLoading = state === "loading";
    state = "down";
    if (firstLoad !== null) {
      state = "closed";
      const how =
        signal !== null ? `by ${signal}` : code !== null ? `with exit code ${code}` : "before it ran";
      firstLoad.reject(
        new JudgeError("encoder", `the encoder process ended ${how} while it loaded model.onnx`),
      );
      firstLoad = null;
      return;
    }
    requeue();
    if (diedLoading) rejectAll(encoderDown());
    const retryMs = backOffMs[Math.min(failuresInARow, backOffMs.length - 1)]!;
    failuresInARow++;
    restarts++;
    parts.events.down({ code, signal, retryMs, reason: refusal, wasLoading: diedLoading });
    refusal = null;
    restartTimer = setTimeout(launch, retryMs);
  }

  /** What ran when the process died goes back to the head of the queue, once. */
  function requeue(): void {
    const job = running;
    running = null;
    if (job === null || job.settled) return;
    if (job.attempts > 0) waiting.unshift(job);
    else job.fail(new ProcessLost());
  }

  function rejectAll(error: JudgeError): void {
    const jobs = waiting;
    waiting = [];
    for (const job of jobs) job.fail(error);
  }

  function next(): void {
    if (state !== "up" || running !== null) return;
    const job = waiting.shift();
    if (job === undefined) return;
    running = job;
    job.attempts--;
    watchdog = setTimeout(() => child?.kill("SIGKILL"), hangMs).unref();
    send({ kind: "work", id: job.id, work: job.work });
  }

  function submit(work: Work, attempts: number, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (state !== "up") return reject(encoderDown());
      const abort = () => {
        waiting = waiting.filter((entry) => entry !== job);
        job.fail(signal?.reason);
      };
      const settle = (report: () => void) => {
        if (job.settled) return;
        job.settled = true;
        signal?.removeEventListener("abort", abort);
        report();
      };
      const job: Job = {
        id: nextId++,
        work,
        attempts,
        settled: false,
        succeed: (answer) => settle(() => resolve(answer)),
        fail: (error) => settle(() => reject(error)),
      };
      signal?.addEventListener("abort", abort, { once: true });
      waiting.push(job);
      next();
    });
  }

  return {
    get up() {
      return state === "up";
    },
    get loading() {
      return state === "loading";
    },
    get pid() {
      return child?.pid;
    },
    start() {
      return new Promise((resolve, reject) => {
        if (state === "closed") return reject(encoderDown());
        firstLoad = { resolve, reject };
        launch();
      });
    },
    async call(work, signal) {
      signal?.throwIfAborted();
      return await submit(work, 2, signal);
    },
    callOnce: (work) => submit(work, 1),
    async close() {
      state = "closed";
      for (const timer of [restartTimer, watchdog, steadyTimer]) clearTimeout(timer);
      firstLoad?.reject(encoderDown());
      firstLoad = null;
      running?.fail(encoderDown());
      rejectAll(encoderDown());
      const closing = child;
      if (closing === null || closing.exitCode !== null || closing.signalCode !== null) return;
      await new Promise<void>((resolve) => {
        closing.once("exit", () => resolve());
        closing.kill("SIGKILL");
      });
    },
  };
}
