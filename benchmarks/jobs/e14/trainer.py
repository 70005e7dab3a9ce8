import os, torch, torch.distributed as dist

class Trainer:
    def __init__(self, cfg):
        dist.init_process_group("gloo")
        self.rank = dist.get_rank(); self.cfg = cfg
        self.w = torch.zeros(24)

    def log(self, m):
        print(f"<{self.rank}> {m}", flush=True)

    def evaluate(self):
        part = torch.rand(2)
        got = [torch.empty(2) for _ in range(dist.get_world_size())]
        dist.all_gather(got, part)
        self.log(f"eval score {torch.cat(got).mean():.4f}")

    def train_step(self, i):
        g = torch.randn(24); dist.all_reduce(g)
        self.w -= 0.1 * g
        self.log(f"iter {i} |w| {self.w.norm():.4f}")

    def fit(self):
        for i in range(1, 31):
            self.train_step(i)
            if i % self.cfg["eval_interval"] == 0 and self.rank == 0:
                self.evaluate()
        dist.barrier()

if __name__ == "__main__":
    Trainer({"eval_interval": 6}).fit()
