import os, time, torch, torch.distributed as dist
class Trainer:
    def __init__(self, rank, world, scratch):
        self.rank, self.world = rank, world
        self.dir = os.path.join(scratch, f"local{rank}")
        os.makedirs(self.dir, exist_ok=True)
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 256))
        self.opt = torch.optim.AdamW(self.net.parameters())
    def step(self):
        loss = self.net(torch.randn(8, 256)).pow(2).mean()
        self.opt.zero_grad(); loss.backward()
        for p in self.net.parameters():
            dist.all_reduce(p.grad); p.grad /= self.world
        self.opt.step()
        return loss.item()
    def save(self, n):
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict()}, f"{self.dir}/state-{n:04d}.pt")
    def fit(self, steps, every):
        for n in range(1, steps + 1):
            l = self.step()
            if self.rank == 0:
                print(f"[{n}/{steps}] loss={l:.4f}", flush=True)
            if n % every == 0:
                self.save(n)
                dist.barrier()
                if self.rank == 0:
                    print(f"state saved at {n}", flush=True)
dist.init_process_group("gloo")
Trainer(dist.get_rank(), dist.get_world_size(), "scratch").fit(40, 4)
