import os, time, datetime
import torch
import torch.multiprocessing as mp
import torch.distributed as dist

WORLD = 3


class Lease:
    def __init__(self, name):
        self.path = f"run/{name}.lease"
        self.t = 0
        with open(self.path, "w") as f:
            f.write(str(os.getpid()))

    def renew(self, every):
        if time.time() - self.t > every:
            os.utime(self.path)
            self.t = time.time()


def actor(i, renew_every):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47906")
    torch.set_num_threads(1)
    lease = Lease(f"actor{i}")
    dist.init_process_group("gloo", rank=i, world_size=WORLD, timeout=datetime.timedelta(seconds=30))
    pol = torch.nn.Linear(12, 4)
    g = torch.Generator().manual_seed(i)
    ret = 0.0
    for upd in range(400):
        obs = torch.randn(64, 12, generator=g)
        act = pol(obs).softmax(-1)
        adv = torch.randn(64, 1, generator=g)
        (-(act.max(-1, keepdim=True).values.log() * adv).mean()).backward()
        for p in pol.parameters():
            dist.all_reduce(p.grad)
            p.data -= 0.01 * p.grad / WORLD
            p.grad = None
        time.sleep(0.06)
        lease.renew(renew_every[i])
        ret = 0.95 * ret + 0.05 * adv.mean().item()
        if i == 0 and upd % 10 == 0:
            print(f"upd={upd:04d} return={ret:+.4f} t={time.perf_counter():.1f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(actor, args=((2, 2, 60),), nprocs=WORLD)
    print("policy trained")
