// GET /v1/models and /v1/models/{id}: judges and their aliases as OpenAI's model objects.
import { JudgeError } from "../errors.js";
import { jsonAnswer, type RequestContext, type Service } from "./service.js";

export function answerModels(service: Service, context: RequestContext): Response {
  return jsonAnswer(context, {
    object: "list",
    data: service.judges.current.names.map((name) => toModel(service, name)),
  });
}

/** @throws JudgeError `model_not_found`, also where default_judge would answer the name in a chat */
export function answerModel(service: Service, context: RequestContext): Response {
  const name = context.req.param("id") ?? "";
  if (service.judges.current.lookUp(name) === null) {
    throw new JudgeError(
      "model_not_found",
      { found: "no judge has this name", remedy: "GET /v1/models lists them" },
      {
        param: "model",
      },
    );
  }
  return jsonAnswer(context, toModel(service, name));
}

function toModel({ startedSeconds }: Service, id: string) {
  return { id, object: "model", created: startedSeconds, owned_by: "prefill-judge" };
}
