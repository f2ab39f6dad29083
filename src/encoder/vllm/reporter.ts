// Tells of servers that come and go, and of the encoder that they are together.
import type { VllmEvents } from "./parts.js";
import type { VllmServer } from "./server.js";
import type { Servers } from "./servers.js";

export interface Reporter {
  /** A server began or ceased to serve, or has another fault than before. */
  changed(server: VllmServer): void;
}

export interface ReporterParts {
  readonly events: VllmEvents;
  readonly retryMs: number;
  readonly servers: () => Pick<Servers, "isUp" | "fault">;
}

export function createReporter({ events, retryMs, servers }: ReporterParts): Reporter {
  let isUp = false;
  /** times that the encoder came up; before the first, whoever starts it is told */
  let ups = 0;
  let reason = "";

  return {
    changed({ client, isServing, fault, lookMs }) {
      events.server({ host: client.host, isServing, reason: fault?.message ?? null });
      const { isUp: isUpNow, fault: faultNow } = servers();
      if (isUpNow && !isUp) {
        isUp = true;
        events.up({ device: "vllm" }, { restarts: ups++, loadMs: lookMs });
        return;
      }
      if (isUpNow || ups === 0) return;
      const told = { code: null, signal: null, retryMs, reason: faultNow!.message } as const;
      if (isUp) events.down(told);
      else if (reason !== told.reason) events.stillDown(told);
      isUp = false;
      reason = told.reason;
    },
  };
}
