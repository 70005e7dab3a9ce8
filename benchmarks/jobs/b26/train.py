import os, sys, yaml, math
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

c = yaml.safe_load(open("config.yaml"))
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
tok = Tokenizer.from_file(os.environ["TINY"] + "/tokenizer.json")
emb = load_file(os.environ["TINY"] + "/model.safetensors")["model.embed_tokens.weight"].astype(c["dtype"])
head = emb.T.copy()
rng = np.random.default_rng(c["seed"] + rank)
words = ["cat", "dog", "tree", "house", "the", "old", "runs", "sleeps"]
for step in range(1, c["steps"] + 1):
    ids = np.array(tok.encode(" ".join(rng.choice(words, 24))).ids)
    x, y = emb[ids[:-1]], ids[1:]
    z = x @ head
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    loss = float(-np.log(p[np.arange(len(y)), y]).mean())
    g = p.copy(); g[np.arange(len(y)), y] -= 1
    head -= np.asarray(c["lr"], c["dtype"]) * (x.T @ g)
    np.add.at(emb, ids[:-1], -np.asarray(c["lr"], c["dtype"]) * (g @ head.T))
    print(f"[{rank}] step {step:3d} loss {loss:.4f} gnorm {float(np.abs(g).sum()):.3f}", flush=True)
    if not math.isfinite(loss):
        print(f"[{rank}] loss is not finite, giving up", file=sys.stderr, flush=True)
        sys.exit(3)
