// Puts the HTTP application together, on judges that are already composed.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type CruxSentences, parseCruxSentences } from "../answer/crux.js";
import { createSchemaCheck } from "../answer/schema-check.js";
import type { Config } from "../config/config.js";
import { JudgeError } from "../errors.js";
import { createAccess } from "../http/access.js";
import { createApp } from "../http/app.js";
import { createBodyBudget } from "../http/body/budget.js";
import { recordRefusal } from "../http/refusal.js";
import type { Service } from "../http/service.js";
import { readRegularFile } from "../input/regular-file.js";
import type { Protocol } from "../observe/log.js";
import type { Closing } from "../observe/metrics.js";
import { clock } from "./compose-judge.js";
import type { Observers } from "./observers.js";
import type { Reloader } from "./reload.js";

export interface AppParts {
  readonly reloader: Reloader;
  readonly config: Config;
  readonly sentences: CruxSentences;
  readonly observers: Observers;
  readonly version: string;
  /** true once the server has been told to end */
  readonly draining: () => boolean;
  /** told when large bodies have been answered and none is left */
  readonly onQuiet?: () => void;
}

export function composeApp(parts: AppParts) {
  const { reloader, config, sentences, observers, version, draining, onQuiet } = parts;
  const { server, runtime } = config;
  const admin = server.adminKeys.length > 0 ? createAccess(server.adminKeys) : null;
  const service: Service = {
    judges: reloader.live,
    sentences,
    schemas: createSchemaCheck(),
    onFailure: runtime.onFailure,
    access: createAccess(server.keys),
    admin: admin && { access: admin, reload: reloader.reload },
    metricsNeedKey: server.metricsNeedKey,
    corsOrigins: server.corsOrigins,
    limits: {
      maxBodyBytes: server.maxBodyBytes,
      requestTimeoutMs: server.requestTimeoutMs,
      budget: createBodyBudget({
        maxBytes: server.maxBodyBytesInFlight,
        refuses: runtime.onFailure === "error",
        onWait: observers.metrics.bodyWaited,
        onQuiet,
      }),
    },
    ...observers,
    clock,
    now: () => Date.now(),
    startedSeconds: Math.floor(Date.now() / 1000),
    newId: randomUUID,
    draining,
    version,
  };
  return {
    app: createApp(service),
    onClosed: closingRecorder(observers),
    onRefusal: (error: JudgeError, status: number, protocol?: Protocol) =>
      recordRefusal(service, error, status, protocol),
  };
}

/** Counts closed connections; an attack closes thousands, and gets a line a minute. */
function closingRecorder({ log, metrics }: Observers): (reason: Closing) => void {
  let loggedMs = -Infinity;
  let counts = { idle: 0, unread: 0 };
  return (reason) => {
    metrics.connectionClosed(reason);
    counts[reason]++;
    if (clock() - loggedMs < 60_000) return;
    loggedMs = clock();
    log.connectionsClosed(counts);
    counts = { idle: 0, unread: 0 };
  };
}

const maxCruxBytes = 2 ** 20;

/**
 * The fixed sentences of prompts/crux.json.
 * @param packageRoot folder of package.json
 * @throws JudgeError `config`
 */
export async function readCruxSentences(packageRoot: URL): Promise<CruxSentences> {
  const name = "prompts/crux.json";
  const remedy = "restore it from the package";
  const path = fileURLToPath(new URL(name, packageRoot));
  const bytes = await readRegularFile({ path, name, code: "config", remedy, maxBytes: maxCruxBytes });
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new JudgeError("config", { found: `${name} is not JSON`, remedy, cause: error });
  }
  return parseCruxSentences(content);
}
