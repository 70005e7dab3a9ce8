import json, os, sys
os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]
os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
import torch, torch.distributed as dist

def read_part(path):
    texts, ys = [], []
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            texts.append(row["text"]); ys.append(row["score"])
    return texts, ys

def featurize(texts):
    out = torch.zeros(len(texts), 128)
    for i, t in enumerate(texts):
        for w in t.split():
            out[i, sum(map(ord, w)) % 128] += 1
    return out

dist.init_process_group("gloo")
r = dist.get_rank()
print("process group ready", flush=True)
texts, ys = read_part(f"corpus/part{r}.jsonl")
X, y = featurize(texts), torch.tensor(ys)
n = torch.tensor([len(y)]); dist.all_reduce(n)
print(f"{len(y)} of {n.item()} examples here", flush=True)
w = torch.zeros(128)
for epoch in range(10):
    g = X.t() @ (X @ w - y) / len(y)
    dist.all_reduce(g)
    w -= 0.01 * g / dist.get_world_size()
    print(f"epoch {epoch} mse {((X @ w - y) ** 2).mean():.4f}", flush=True)
dist.destroy_process_group()
