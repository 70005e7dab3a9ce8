import os, torch, torch.nn.functional as F, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from tqdm import tqdm
from model import TwoHead

WARMUP = 12

def run():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DDP(TwoHead())
    optim = torch.optim.AdamW(model.parameters(), lr=3e-4)
    bar = tqdm(range(60), disable=rank != 0, desc="train", mininterval=0.0)
    for step in bar:
        x, y, z = torch.randn(16, 40), torch.randint(0, 7, (16,)), torch.randint(0, 3, (16,))
        out, aux = model(x, warmup=step < WARMUP)
        loss = F.cross_entropy(out, y)
        if aux is not None:
            loss = loss + 0.3 * F.cross_entropy(aux, z)
        optim.zero_grad()
        loss.backward()
        optim.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
    dist.destroy_process_group()

if __name__ == "__main__":
    run()
