"""Writes the reference rows of the embedded judges, test/fixtures/parity/*.jsonl: from each row's prompt and token ids,
which stay as they are, the pooled vector and the probabilities, without any code of src/.

From the repository's folder, after a checkpoint was replaced, and then the selftests from the rows:

python3 -m venv v && v/bin/pip install onnxruntime==1.32.0 numpy && v/bin/python test/parity/reference.py
npm run build && node dist/test/support/make-selftest.js
"""

import json
import pathlib
import struct

import numpy as np
import onnxruntime

repository = pathlib.Path(__file__).resolve().parents[2]


def read_tensors(path):
    """safetensors: 8 bytes of length, a header in JSON, the values"""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        start, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[start:end], "<f4").reshape(entry["shape"]).astype(np.float64)
    return tensors


def sigmoid(logit):
    return 1 / (1 + np.exp(-logit))


def pooled_vector(session, layer, ids):
    """[hidden_size] in float32: the mean over all tokens of one text, run alone and whole"""
    feeds = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
    for given in session.get_inputs():
        if given.name.startswith("past_key_values."):
            _, heads, _, size = given.shape
            feeds[given.name] = np.zeros((1, heads, 0, size), np.float32)
    (states,) = session.run([f"hidden_states.{layer}"], feeds)
    return states[0].astype(np.float64).mean(axis=0).astype(np.float32)


def raw_probabilities(router, tensors, pooled):
    """[outputs]: scaler, PCA, every member with ReLU between its layers, sigmoid, mean over the members"""
    block = "blocks.0."
    scaled = (pooled - tensors[f"{block}scaler_mean"]) / tensors[f"{block}scaler_scale"]
    features = tensors[f"{block}pca_components"] @ (scaled - tensors[f"{block}pca_mean"])
    members = []
    for member in range(router["members"]["count"]):
        values = features
        last = len(router["members"]["hidden"])
        for layer in range(last + 1):
            name = f"members.{member}.layers.{layer}."
            values = tensors[f"{name}weight"] @ values + tensors[f"{name}bias"]
            if layer < last:
                values = np.maximum(values, 0)
        members.append(sigmoid(values))
    return np.mean(members, axis=0)


def calibrated(router, raw):
    """[outputs]: Platt's sigmoid on the logit of the ensemble's mean"""
    pairs = zip(raw, router["calibration"], strict=True)
    return [sigmoid(platt["slope"] * np.log(p / (1 - p)) + platt["intercept"]) for p, platt in pairs]


def reference_rows(checkpoint, rows):
    router = json.loads((checkpoint / "router.json").read_text())
    tensors = read_tensors(checkpoint / router["tensor_file"])
    (block,) = router["blocks"]
    (layer,) = block["layers"]
    assert (block["pooling"], block["combination"], router["members"]["kind"]) == ("mean", "concat", "shared")
    session = onnxruntime.InferenceSession(
        checkpoint / "encoder/model.onnx", providers=["CPUExecutionProvider"]
    )
    for row in rows:
        pooled = pooled_vector(session, layer, row["input_ids"])
        raw = raw_probabilities(router, tensors, pooled)
        names = router["output_names"]
        yield {
            "prompt": row["prompt"],
            "input_ids": row["input_ids"],
            "pooled_first8": [float(value) for value in pooled[:8]],
            "pooled_norm": float(np.linalg.norm(pooled)),
            "raw": dict(zip(names, map(float, raw), strict=True)),
            "probabilities": dict(zip(names, map(float, calibrated(router, raw)), strict=True)),
        }


for name in ("smollm2-135m", "minilm-l6"):
    file = repository / f"test/fixtures/parity/{name}.jsonl"
    known = [json.loads(line) for line in file.read_text().splitlines()]
    lines = [json.dumps(row, ensure_ascii=False) for row in reference_rows(repository / "checkpoints" / name, known)]
    file.write_text("".join(f"{line}\n" for line in lines))
