import json
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP


def say(*a):
    print(f"({os.environ['RANK']}/{os.environ['WORLD_SIZE']})", *a, flush=True)


def load_day(d):
    a = np.load(f"features/day{d}.npy")
    return torch.from_numpy(a[:, :-1]), torch.from_numpy(a[:, -1].astype("f4"))


@record
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = torch.nn.Linear(24, 1)
    start = 0
    if os.path.exists("ckpt/last.pt"):
        s = torch.load("ckpt/last.pt")
        model.load_state_dict(s["model"]); start = s["day"] + 1
        say("resuming after day", s["day"])
    ddp = DDP(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.2)
    os.makedirs("ckpt", exist_ok=True)
    for d in range(start, 3):
        x, y = load_day(d)
        x, y = x[rank::world], y[rank::world]
        for ep in range(5):
            for i in range(0, len(x), 128):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(ddp(x[i:i + 128]).squeeze(-1), y[i:i + 128])
                opt.zero_grad(); loss.backward(); opt.step()
            time.sleep(0.2)
            say(f"day {d} epoch {ep} logloss {loss.item():.4f}")
        if rank == 0:
            torch.save({"model": model.state_dict(), "day": d}, "ckpt/last.pt")
            with open("ckpt/metrics.jsonl", "a") as f:
                f.write(json.dumps({"day": d, "logloss": round(loss.item(), 4)}) + "\n")
        dist.barrier()
    say("all days done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
