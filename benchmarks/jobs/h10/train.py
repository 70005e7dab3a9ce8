import os, torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from data import Clips, hello
from tqdm import tqdm

def train():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    ds = Clips()
    dl = DataLoader(ds, batch_size=16, sampler=DistributedSampler(ds), num_workers=2, worker_init_fn=hello)
    net = DDP(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 10)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    bar = tqdm(dl, desc="epoch 0", disable=rank != 0, mininterval=1)
    for n, (x, y) in enumerate(bar):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        open(f"run/progress-{rank}", "w").write(str(n))
        bar.set_postfix(loss=f"{loss.item():.3f}")

if __name__ == "__main__":
    train()
