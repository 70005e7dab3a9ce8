import os, sys, time, json, socket
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class FeatureClient:
    """reads rows from the feature service (a line protocol over TCP)"""
    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.f = self.s.makefile("rw")

    def rows(self, start, n):
        self.f.write(f"{start} {n}\n"); self.f.flush()
        line = self.f.readline()
        if not line:
            raise ConnectionError(f"feature service closed the connection while rows {start}..{start + n - 1} were read")
        return torch.tensor(json.loads(line))


def main():
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # a fresh store for every attempt, the agent's store keeps the old addresses
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store.{attempt}", rank=rank, world_size=world)
    out = lambda m: print(f"[{time.strftime('%X')} try{attempt} rk{rank}] {m}", flush=True)
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)))
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    start = 0
    if os.path.exists("last.ckpt"):
        ck = torch.load("last.ckpt")
        model.module.load_state_dict(ck["model"]); opt.load_state_dict(ck["opt"]); start = ck["step"]
        out(f"resumed from last.ckpt at step {start}")
    fc = FeatureClient(48239 + 0)
    for step in range(start, 100):
        x = fc.rows((step * world + rank) * 4 % 1196, 4)
        loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if (step + 1) % 10 == 0:
            out(f"step {step + 1}/100 mse {loss.item():.4f}")
            if rank == 0:
                torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step + 1}, "last.tmp")
                os.replace("last.tmp", "last.ckpt")
    dist.barrier()
    if rank == 0:
        torch.save(model.module.state_dict(), "final.pt")
        out("training finished, final.pt written")
    dist.destroy_process_group()


main()
