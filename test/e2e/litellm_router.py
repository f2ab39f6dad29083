"""The real LiteLLM Router with judges in the seat of its capability classifier.

Standard input: first a line with the addresses, {"models": url, "judges": {group: {"url", "model", "vision"}}}; then one
user request a line, {"group", "messages"}, or {"group", "input"} for the Responses API. Standard output: for each request the model that answered, or the error that its
user saw.
"""

import asyncio
import json
import logging
import sys

import litellm
from litellm import Router

litellm.telemetry = False
litellm.suppress_debug_info = True
logging.disable(logging.CRITICAL)

TIERS = {"SIMPLE": "weak", "MEDIUM": "weak", "COMPLEX": "strong", "REASONING": "strong"}


def served(name, model, url, vision=False):
    params = {"model": f"openai/{model}", "api_base": f"{url}/v1", "api_key": "sk-x"}
    return {"model_name": name, "litellm_params": params, "model_info": {"supports_vision": vision}}


def auto_router(group, vision):
    config = {
        "tiers": TIERS,
        "classifier_type": "capability",
        # its default of 3 s is for machines that are not busy with other tests
        "classifier_llm_config": {
            "model": f"judge-{group}",
            "timeout_ms": 60_000,
            "vision": {"enabled": vision},
        },
        "capability_classifier_config": {
            "efficient_tier": "SIMPLE",
            "capable_tier": "REASONING",
            "base_threshold": 0.8,
            "threshold_step": 0.0,
        },
    }
    params = {"model": "auto_router/complexity_router", "complexity_router_config": config}
    return {"model_name": group, "litellm_params": params}


def make_router(addresses):
    models = [
        served("weak", "weak-model", addresses["models"]),
        served("strong", "strong-model", addresses["models"]),
    ]
    for group, judge in addresses["judges"].items():
        models += [auto_router(group, judge["vision"]), served(f"judge-{group}", **judge)]
    return Router(model_list=models, num_retries=0)


async def answer(router, request):
    try:
        if "input" in request:
            reply = await router.aresponses(model=request["group"], input=request["input"])
            return {"model": reply.output[0].content[0].text, "error": None}
        reply = await router.acompletion(model=request["group"], messages=request["messages"])
    except Exception as error:
        return {"model": None, "error": f"{type(error).__name__}: {error}"}
    return {"model": reply.choices[0].message.content, "error": None}


async def main():
    router = make_router(json.loads(sys.stdin.readline()))
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(router, json.loads(line))), flush=True)


asyncio.run(main())
