import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
WORLD = 4
class Trainer:
    def __init__(self, rank):
        self.rank = rank
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4110", rank=rank, world_size=WORLD)
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64))
        self.opt = torch.optim.AdamW(self.model.parameters(), 1e-3)
    def log(self, s): print(f"[R{self.rank}/{WORLD}] {s}", flush=True)
    def save(self, step):
        d = f"scratch/node{self.rank}"; os.makedirs(d, exist_ok=True)
        torch.save({"m": self.model.state_dict(), "o": self.opt.state_dict()}, f"{d}/ckpt_{step:05d}.pt")
        self.log(f"saved {d}/ckpt_{step:05d}.pt")
    def run(self):
        for step in range(1, 31):
            x = torch.randn(32, 64); loss = (self.model(x) - x).pow(2).mean()
            self.opt.zero_grad(); loss.backward()
            for p in self.model.parameters(): dist.all_reduce(p.grad); p.grad /= WORLD
            self.opt.step()
            if step % 2 == 0: self.log(f"step {step} loss {loss.item():.4f}")
            if step % 10 == 0: self.save(step)
def go(rank): Trainer(rank).run()
if __name__ == "__main__":
    mp.spawn(go, nprocs=WORLD)
