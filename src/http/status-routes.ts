// The routes about the server itself: its models, health, readiness and metrics, and the reload.
import * as z from "zod";
import { asJudgeError, JudgeError, withoutPaths } from "../errors.js";
import type { Route } from "./route.js";
import type { Service } from "./service.js";

export const Model = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
});
export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(Model) });

export const Health = z.strictObject({ status: z.literal("ok") });
export const Readiness = z.strictObject({
  ready: z.boolean(),
  judges: z.record(z.string(), z.boolean()),
  /** of judges that are not ready */
  reasons: z.record(z.string(), z.string()),
});

export function statusRoutes(service: Service): Route[] {
  return [...modelRoutes(service), ...healthRoutes(service), reloadRoute(service)];
}

/** Judges and their aliases as OpenAI's model objects. */
function modelRoutes({ judges, startedSeconds }: Service): Route[] {
  const guarded = { method: "GET", isGuarded: true } as const;
  const owned_by = "prefill-judge";
  const toModel = (id: string) => ({ id, object: "model", created: startedSeconds, owned_by });
  return [
    {
      ...guarded,
      name: "models",
      path: "/v1/models",
      operation: {
        summary: "Judges and their aliases",
        answer: { json: { name: "ModelList", schema: ModelList } },
        refusals: [503],
      },
      handler: (context) => context.json({ object: "list", data: judges.current.names.map(toModel) }),
    },
    {
      ...guarded,
      name: "model",
      path: "/v1/models/{id}",
      operation: {
        summary: "One judge or alias",
        answer: { json: { name: "Model", schema: Model } },
        refusals: [404, 503],
      },
      handler(context) {
        const name = context.req.param("id") ?? "";
        // default_judge answers an unknown name in a chat, but not here
        if (judges.current.lookUp(name) !== null) return context.json(toModel(name));
        const text = { found: "no judge has this name", remedy: "GET /v1/models lists them" };
        throw new JudgeError("model_not_found", { ...text, param: "model" });
      },
    },
  ];
}

function healthRoutes({ judges, draining, metrics, metricsNeedKey }: Service): Route[] {
  const open = { method: "GET", isGuarded: false } as const;
  return [
    {
      ...open,
      name: "health",
      path: "/health",
      operation: {
        summary: "200 while the process lives",
        answer: { json: { name: "Health", schema: Health } },
        refusals: [],
      },
      handler: (context) => context.json({ status: "ok" }),
    },
    {
      ...open,
      name: "ready",
      path: "/ready",
      operation: {
        summary:
          "200 while every judge can answer; 503 at the start, at the end, or while an encoder is down",
        answer: { json: { name: "Readiness", schema: Readiness } },
        answerStatuses: [503],
        refusals: [],
      },
      handler(context) {
        const registry = judges.current;
        const ready = registry.ready && !draining();
        const readiness = registry.judges.map((judge) => [judge.id, judge.ready]);
        const reasons = registry.judges.flatMap(({ id, ready: isReady, fault }) =>
          isReady || fault === null ? [] : [[id, withoutPaths(fault.finding)]],
        );
        const answer = { ready, judges: Object.fromEntries(readiness), reasons: Object.fromEntries(reasons) };
        return context.json(answer, ready ? 200 : 503);
      },
    },
    {
      ...open,
      name: "metrics",
      path: "/metrics",
      isGuarded: metricsNeedKey,
      operation: {
        summary: "Metrics for Prometheus",
        answer: { others: { "text/plain": { type: "string" } } },
        refusals: [503],
      },
      handler: async (context) =>
        context.body(await metrics.render(), 200, { "content-type": metrics.contentType }),
    },
  ];
}

/** Off (404) without an admin key. The keys of clients do not open it. */
function reloadRoute({ admin }: Service): Route {
  return {
    name: "reload",
    method: "POST",
    path: "/admin/reload",
    isGuarded: false,
    operation: null,
    async handler(context) {
      if (admin === null)
        throw new JudgeError("not_found", { found: "no admin key is configured, so this path is off" });
      admin.access.check(context.req.header("authorization"));
      try {
        return context.json({ reloaded: true, judges: await admin.reload() });
      } catch (error) {
        const found = `the judges in service stay: ${withoutPaths(asJudgeError(error).message)}`;
        throw new JudgeError("reload_failed", { found, cause: error });
      }
    },
  };
}
