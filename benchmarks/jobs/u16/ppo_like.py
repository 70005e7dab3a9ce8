import argparse, os, sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import load_file, save_file


def build():
    return torch.nn.ModuleDict({"pi": torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 256), torch.nn.Tanh(), torch.nn.Linear(256, 12)),
                                "vf": torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1))})


def actor(rank, a):
    def p(*m):
        print(f"<{rank}>", *m)
        sys.stdout.flush()
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47616", rank=rank, world_size=a.nproc)
    torch.manual_seed(0)
    net = build()
    it0 = 0
    if a.resume:
        p("resume from", a.resume, os.path.getsize(a.resume), "bytes")
        sd = load_file(a.resume)
        it0 = int(sd.pop("iter"))
        net.load_state_dict(sd)
    opt = torch.optim.Adam(net.parameters(), 3e-4)
    g = torch.Generator().manual_seed(rank)
    for it in range(it0, a.iters):
        s = torch.randn(256, 64, generator=g)
        adv = s[:, :12]
        lp = torch.log_softmax(net["pi"](s), -1)
        act = torch.multinomial(lp.exp(), 1, generator=g)
        r = adv.gather(1, act)
        v = net["vf"](s)
        loss = -(lp.gather(1, act) * (r - v.detach())).mean() + 0.5 * (v - r).pow(2).mean()
        opt.zero_grad(); loss.backward()
        for q in net.parameters():
            dist.all_reduce(q.grad); q.grad /= a.nproc
        opt.step()
        p(f"iter {it} return {r.mean().item():+.4f} loss {loss.item():+.4f}")
    if rank == 0:
        os.makedirs(os.path.dirname(a.save), exist_ok=True)
        save_file({**net.state_dict(), "iter": torch.tensor(a.iters)}, a.save)
        p("saved", a.save, os.path.getsize(a.save), "bytes")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--nproc", type=int); ap.add_argument("--iters", type=int); ap.add_argument("--save"); ap.add_argument("--resume")
    a = ap.parse_args()
    mp.spawn(actor, (a,), nprocs=a.nproc)
