"""The recipe of src/train/fit.ts in scikit-learn and PyTorch, for the benchmark of training: reads the table that
train-bench.ts wrote, and fits once for each line on standard input, answering with seconds and validation losses."""

import json
import sys
import time

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

folder, rows, columns, outputs, pca_size, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
features = np.fromfile(f"{folder}/features.f32", np.float32).reshape(rows, columns)
target = torch.from_numpy(np.fromfile(f"{folder}/target.f32", np.float32).reshape(rows, outputs))
weight = torch.from_numpy(np.fromfile(f"{folder}/weight.f32", np.float32).reshape(rows, outputs))


def loss_of(network, x, y, w):
    losses = torch.nn.functional.binary_cross_entropy_with_logits(network(x), y, reduction="none")
    return (losses * w).sum() / w.sum()


def train_member(seed, x, train, validation):
    torch.manual_seed(seed)
    nn = torch.nn
    network = nn.Sequential(
        nn.Linear(pca_size, 256), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, outputs),
    )
    adam = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=1e-4)
    best, best_epoch, epoch = None, 0, 0
    kept = {}
    while epoch < 150 and epoch - best_epoch < 15:
        epoch += 1
        network.train()
        for batch in train[torch.randperm(len(train))].split(512):
            adam.zero_grad()
            loss_of(network, x[batch], target[batch], weight[batch]).backward()
            adam.step()
        network.eval()
        with torch.no_grad():
            loss = loss_of(network, x[validation], target[validation], weight[validation]).item()
        if best is None or loss < best - 1e-4:
            best, best_epoch = loss, epoch
            kept = {name: value.clone() for name, value in network.state_dict().items()}
    return best, epoch, kept


def fit():
    scaled = StandardScaler().fit_transform(features)
    x = torch.from_numpy(PCA(pca_size, random_state=42).fit_transform(scaled).astype(np.float32))
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(42))
    validation, train = order[: round(rows * 0.15)], order[round(rows * 0.15) :]
    members = [train_member(seed, x, train, validation) for seed in range(42, 52)]
    return sorted(members, key=lambda member: member[0])


for _ in sys.stdin:
    started = time.perf_counter()
    members = fit()
    seconds = time.perf_counter() - started
    answer = {"seconds": seconds, "epochs": sum(m[1] for m in members), "losses": [m[0] for m in members[:5]]}
    print(json.dumps(answer), flush=True)
