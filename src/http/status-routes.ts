// GET /ready and POST /admin/reload: how the server is, and the switch to other judges.
import { asJudgeError, JudgeError, withoutPaths } from "../errors.js";
import { jsonAnswer, type RequestContext, type Service } from "./service.js";

/** 503 until every selftest has passed, while an encoder is down, and once the server is ending. */
export function answerReady({ judges: live, draining }: Service, context: RequestContext): Response {
  const registry = live.current;
  const ready = registry.ready && !draining();
  const judges = Object.fromEntries(registry.judges.map((judge) => [judge.id, judge.ready]));
  return jsonAnswer(context, { ready, judges }, ready ? 200 : 503);
}

/** Off (404) without an admin key; the keys of clients do not open it. */
export async function answerReload({ admin }: Service, context: RequestContext): Promise<Response> {
  if (admin === null)
    throw new JudgeError("not_found", { found: "no admin key is configured, so this path is off" });
  admin.access.check(context.req.header("authorization"));
  try {
    return jsonAnswer(context, { reloaded: true, judges: await admin.reload() });
  } catch (error) {
    const message = withoutPaths(asJudgeError(error).message);
    throw new JudgeError(
      "reload_failed",
      { found: `the judges in service stay: ${message}` },
      { cause: error },
    );
  }
}
