// Keeps one encoder process alive, restarts it with back-off, and gives it one work at a time.
import type { ChildProcess } from "node:child_process";
import { JudgeError } from "../../errors.js";
import { ProcessLost } from "./process-lost.js";
import type { Answer, Command, LoadedFacts, Report } from "./protocol.js";
import type { Supervisor, SupervisorParts } from "./supervisor-parts.js";
import { createWatchdog } from "./watchdog.js";

/** The work that the process is busy with. */
interface Job {
  readonly id: number;
  resolve(answer: Answer): void;
  reject(error: JudgeError): void;
}

/** A restart that takes so many times as long as the first load hangs. */
const slowestLoad = 5;
const defaultBackOffMs = [50, 250, 1000, 3000, 10_000];

export function createSupervisor(parts: SupervisorParts): Supervisor {
  const { backOffMs = defaultBackOffMs, hangMs = 60_000, steadyMs = 10_000 } = parts;
  /** of what the process does: a work, or a load but for the first, whose end is its caller's matter */
  const watchdog = createWatchdog(() => child?.kill("SIGKILL"));
  /** how long the process must live to count as steady */
  let steadyTimer: NodeJS.Timeout | undefined;
  let child: ChildProcess | null = null;
  let state: "new" | "loading" | "up" | "down" | "closed" = "new";
  let running: Job | null = null;
  let nextId = 1;
  let failuresInARow = 0;
  let launchedMs = 0;
  let loadMs: number | null = null;
  let restarts = 0;
  let restartTimer: NodeJS.Timeout | undefined;
  let refusal: string | null = null;
  let firstLoad: { resolve(facts: LoadedFacts): void; reject(error: JudgeError): void } | null = null;

  const encoderDown = () =>
    new JudgeError("encoder_down", { found: "the encoder is not running", remedy: "it is being restarted" });

  function launch(): void {
    state = "loading";
    launchedMs = performance.now();
    if (loadMs !== null) watchdog.watch(Math.max(hangMs, slowestLoad * loadMs));
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
    // a failed send means that the process is gone, and so does no channel: without file descriptors to spare
    // none was started
    if (child?.connected) child.send(command, () => {});
  }

  function receive(report: Report): void {
    if (state === "closed") return;
    if (report.kind === "loaded") {
      state = "up";
      watchdog.rest();
      steadyTimer = setTimeout(() => {
        failuresInARow = 0;
      }, steadyMs).unref();
      const tookMs = performance.now() - launchedMs;
      loadMs ??= tookMs;
      parts.events.up(report.facts, { restarts, loadMs: tookMs });
      firstLoad?.resolve(report.facts);
      firstLoad = null;
    } else if (report.kind === "failed") {
      const error = new JudgeError(report.error.code, report.error);
      if (firstLoad !== null) {
        state = "closed";
        firstLoad.reject(error);
        firstLoad = null;
      }
      refusal = error.message;
      child?.kill("SIGKILL");
    } else if (running?.id === report.id) {
      failuresInARow = 0;
      takeRunning()?.resolve(report.answer);
    }
  }

  /** The work that runs no more, if there is one. */
  function takeRunning(): Job | null {
    const job = running;
    running = null;
    watchdog.rest();
    return job;
  }

  function lost(code: number | null, signal: string | null): void {
    child = null;
    watchdog.rest();
    clearTimeout(steadyTimer);
    if (state === "closed") return;
    const wasLoading = state === "loading";
    state = "down";
    if (firstLoad !== null) {
      state = "closed";
      const how =
        signal !== null ? `by ${signal}` : code !== null ? `with exit code ${code}` : "before it ran";
      firstLoad.reject(
        new JudgeError("encoder", { found: `the encoder process ended ${how} while it loaded model.onnx` }),
      );
      firstLoad = null;
      return;
    }
    takeRunning()?.reject(new ProcessLost());
    const retryMs = backOffMs[Math.min(failuresInARow, backOffMs.length - 1)]!;
    failuresInARow++;
    restarts++;
    parts.events.down({ code, signal, retryMs, reason: refusal, wasLoading });
    refusal = null;
    restartTimer = setTimeout(launch, retryMs);
  }

  return {
    get up() {
      return state === "up";
    },
    get loading() {
      return state === "loading";
    },
    get busy() {
      return running !== null;
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
    run(work) {
      return new Promise((resolve, reject) => {
        if (state !== "up") return reject(encoderDown());
        if (running !== null)
          return reject(new JudgeError("internal", { found: "the encoder process is busy" }));
        running = { id: nextId++, resolve, reject };
        watchdog.watch(hangMs);
        send({ kind: "work", id: running.id, work });
      });
    },
    async close() {
      state = "closed";
      for (const timer of [restartTimer, steadyTimer]) clearTimeout(timer);
      firstLoad?.reject(encoderDown());
      firstLoad = null;
      takeRunning()?.reject(encoderDown());
      const closing = child;
      if (closing === null || closing.exitCode !== null || closing.signalCode !== null) return;
      await new Promise<void>((resolve) => {
        closing.once("exit", () => resolve());
        closing.kill("SIGKILL");
      });
    },
  };
}
