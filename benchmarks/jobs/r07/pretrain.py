import argparse, json
import numpy as np, torch, deepspeed
from torch import nn

p = argparse.ArgumentParser(); p.add_argument("--ds"); p.add_argument("--iters", type=int); a = p.parse_args()
deepspeed.init_distributed("gloo")
rank = torch.distributed.get_rank()


def log(msg):
    print(f"pretrain[{rank}] {msg}")


cfg = json.load(open(a.ds))
toks = torch.from_numpy(np.load("tokens.npy").astype("i8"))
net = nn.Sequential(nn.Embedding(128, 64), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128))
log(f"config {json.dumps(cfg)}")
for n, q in net.named_parameters():
    log(f"  param {n:12s} {tuple(q.shape)}")
eng, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=cfg)
for it in range(a.iters):
    i = torch.randint(0, len(toks) - 2, (cfg["train_micro_batch_size_per_gpu"] * 16,)) // 2 * 2
    loss = nn.functional.cross_entropy(eng(toks[i]), toks[i + 1])
    eng.backward(loss); eng.step()
    if it % 10 == 0:
        log(f"it {it} loss {loss.item():.3f}")
eng.save_checkpoint("out")
