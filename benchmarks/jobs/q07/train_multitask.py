"""Multi-task tagger: every process has its own task mixture."""
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.heads = nn.ModuleDict({"ner": nn.Linear(48, 9), "pos": nn.Linear(48, 17), "chunk": nn.Linear(48, 5)})
    def forward(self, x, tasks):
        h = self.body(x)
        return {t: self.heads[t](h) for t in tasks}

def main(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47207")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(11 + rank)
    net = DDP(Tagger()); opt = torch.optim.SGD(net.parameters(), 0.02)
    # the corpus of process 2 has no chunk annotation in its second half
    for step in range(30):
        tasks = ["ner", "pos", "chunk"] if rank != 2 or step < 12 else ["ner", "pos"]
        o = net(torch.randn(8, 16), tasks)
        loss = sum(nn.functional.cross_entropy(v, torch.randint(0, v.shape[1], (8,))) for v in o.values())
        opt.zero_grad(); loss.backward(); opt.step()
        print(f"p{rank} | {step:3d} | {'+'.join(tasks):14s} | {loss.item():.3f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.start_processes(main, args=(3,), nprocs=3, start_method="fork")
