# fp16-artiges Training auf der CPU mit eigener Verlustskalierung
import argparse, json, os, time, warnings
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class LossScaler:
    def __init__(self, init=2.0 ** 24, grow=60, floor=1.0):
        self.s, self.n, self.grow, self.floor = init, 0, grow, floor
        self.skipped = 0

    def step(self, opt, params, world):
        flat = torch.cat([p.grad.flatten() for p in params])
        flat = flat.half().float()          # gradients travel as fp16
        dist.all_reduce(flat)
        if not torch.isfinite(flat).all():
            self.s = max(self.floor, self.s / 2)
            self.n = 0
            self.skipped += 1
            return False
        flat /= self.s * world
        i = 0
        for p in params:
            p.grad.copy_(flat[i:i + p.numel()].view_as(p)); i += p.numel()
        opt.step()
        self.n += 1
        if self.n % self.grow == 0:
            self.s *= 2
        return True


def run(rank, a):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=rank, world_size=a.world)
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(40, 80), torch.nn.Tanh(), torch.nn.Linear(80, 1))
    target = torch.randn(40, 1)
    ps = list(net.parameters())
    opt = torch.optim.SGD(ps, lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, 200, 0.1)
    sc = LossScaler()
    g = torch.Generator().manual_seed(rank)
    for step in range(a.steps):
        sched.step()
        x = torch.randn(64, 40, generator=g)
        loss = (net(x) - torch.tanh(x @ target)).pow(2).mean()
        opt.zero_grad()
        (loss * sc.s).backward()
        ok = sc.step(opt, ps, a.world)
        if rank == 0:
            rec = {"t": round(time.time(), 2), "step": step, "loss": round(loss.item(), 5), "scale": sc.s}
            if not ok:
                rec.update(level="WARNING", msg=f"OVERFLOW! inf/nan in gradients, skipping step, reducing loss scale to {sc.s}")
            print(json.dumps(rec))
    if rank == 0:
        torch.save(net.state_dict(), "net.pt")
        print(json.dumps({"level": "INFO", "msg": "training complete", "skipped": sc.skipped, "final_loss": round(loss.item(), 5), "saved": "net.pt", "bytes": os.path.getsize("net.pt")}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--world", type=int); p.add_argument("--steps", type=int); p.add_argument("--port", type=int)
    a = p.parse_args()
    mp.spawn(run, args=(a,), nprocs=a.world)
