import argparse, glob, os, sys, traceback
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(4, 48, batch_first=True)
        self.out = torch.nn.Linear(48, 4)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def newest_good(rank):
    for path in sorted(glob.glob("ckpt/step_*.pt"), reverse=True):
        try:
            return torch.load(path, map_location="cpu"), path
        except Exception:
            print(f"[rank{rank}] {path} is not readable, trying the one before it", file=sys.stderr)
            traceback.print_exc()
    return None, None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int); ap.add_argument("--save-every", type=int)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    start = 0
    ck, path = newest_good(rank)
    if ck:
        net.load_state_dict(ck["net"]); opt.load_state_dict(ck["opt"]); start = ck["step"]
        print(f"[rank{rank}] resumed from {path} at step {start}")
    else:
        print(f"[rank{rank}] fresh start")
    ddp = DDP(net)
    g = torch.Generator().manual_seed(rank * 1000 + start)
    for step in range(start + 1, a.steps + 1):
        ph = torch.rand(16, 1, 4, generator=g) * 6.28
        t = torch.arange(31).view(1, -1, 1) * 0.3
        s = torch.sin(t + ph)
        loss = (ddp(s[:, :-1]) - s[:, 1:]).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0 and step % 5 == 0:
            print(f"[rank0] step {step} mse {loss.item():.5f}")
        if step % a.save_every == 0:
            if rank == 0:
                torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt/step_{step:05d}.pt")
                print(f"[rank0] wrote ckpt/step_{step:05d}.pt")
            dist.barrier()
    print(f"[rank{rank}] reached step {a.steps}")


main()
