// Starts a process of this program's own that ends with it, however it ends, and that is told no key.
import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { lifeline } from "./lifeline.js";

/** What Node, the C library and preloaded libraries of a child may need. Other variables may hold keys. */
const passedOn =
  /^(PATH|HOME|USER|TMPDIR|TMP|TEMP|TZ|LANG|LANGUAGE|SystemRoot|NODE_OPTIONS|NODE_V8_COVERAGE|NODE_ICU_DATA|UV_THREADPOOL_SIZE|GLIBC_TUNABLES)$|^(LC|LD|DYLD|MALLOC|MIMALLOC|OMP|KMP|GOMP|ORT|FAKETIME)_|^FAKETIME$/;

/**
 * A process that waits for messages on an IPC channel. Its script calls `endWithParent`.
 * @param env what it gets beside the variables that are passed on
 */
export function spawnChild(
  script: URL,
  { env = {}, execArgv = [] }: { env?: NodeJS.ProcessEnv; execArgv?: readonly string[] } = {},
): ChildProcess {
  const child = fork(script, {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc", "pipe"],
    execArgv: [...execArgv],
    env: { ...childEnvironment(process.env), ...env },
  });
  // absent where no process could be started; nothing is ever written into it
  const pipe = child.stdio?.[lifeline] as Socket | null | undefined;
  pipe?.on("error", () => {}).unref();
  return child;
}

function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name)));
}
