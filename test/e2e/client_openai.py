"""Makes the calls of client-contract.ts with the openai package: one call a line on standard input, one outcome a line out."""

import json
import sys
from typing import Literal

import openai
from pydantic import BaseModel, ConfigDict, Field


class CapabilityClassifierDecision(BaseModel):
    model_config = ConfigDict(extra="forbid")
    crux: str = Field(min_length=1)
    primary_rule: Literal[
        "SUP-1", "SUP-2", "SUP-3", "SUP-4", "SUP-5", "UNC-1", "UNC-2", "LIM-1", "LIM-2", "none"
    ]
    capability_boundary: Literal["supported", "uncertain", "unsupported", "unmatched"]
    p_solve: float = Field(ge=0, le=1)


def ask(call):
    kind, body, key = call["kind"], call["body"], call["key"]
    client = openai.OpenAI(base_url=call["url"], api_key=key or "unused", max_retries=0)
    if key is None:
        # the package wants a key; without one it is told to leave the header out
        body = {**body, "extra_headers": {"Authorization": openai.Omit()}}
    if kind == "models":
        return {"models": [model.id for model in client.models.list()]}
    if kind == "model":
        return {"models": [client.models.retrieve(body["model"]).id]}
    if kind in ("parse", "parse-stream"):
        body = {**body, "response_format": CapabilityClassifierDecision}
        if kind == "parse":
            completion = client.chat.completions.parse(**body)
        else:
            with client.chat.completions.stream(**body) as stream:
                completion = stream.get_final_completion()
        return {"parsed": completion.choices[0].message.parsed.model_dump()}
    if kind == "stream":
        return read_stream(client.chat.completions.create(**body, stream=True))
    completion = client.chat.completions.create(**body)
    return {
        "contents": [choice.message.content for choice in completion.choices],
        "finishReasons": [choice.finish_reason for choice in completion.choices],
        "logprobs": completion.choices[0].logprobs,
        "usage": to_usage(completion.usage),
    }


def read_stream(chunks):
    content, finish_reasons, usage = "", [], None
    for chunk in chunks:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            if choice.finish_reason:
                finish_reasons.append(choice.finish_reason)
        usage = chunk.usage or usage
    return {"contents": [content], "finishReasons": finish_reasons, "usage": to_usage(usage)}


def to_usage(usage):
    if usage is None:
        return None
    return {"input": usage.prompt_tokens, "output": usage.completion_tokens, "total": usage.total_tokens}


for line in sys.stdin:
    try:
        outcome = ask(json.loads(line))
    except openai.APIStatusError as error:
        outcome = {
            "error": {
                "className": type(error).__name__,
                "message": error.message,
                "status": error.status_code,
                "code": error.code,
            }
        }
    except Exception as error:  # an outcome that no case wants
        outcome = {"contents": [f"{type(error).__name__}: {error}"]}
    print(json.dumps(outcome), flush=True)
