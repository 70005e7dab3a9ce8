import torch, torch.nn as nn, torch.distributed as dist
from memstore import ShardedStore

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank}: opening the store", flush=True)
    store = ShardedStore("recs")
    net = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(20):
        x = torch.stack([torch.tensor(store.read(rank + world * (step * 8 + k))) for k in range(8)])
        loss = net(x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
        print(f"rank {rank} step {step} loss {loss.item():.3e}", flush=True)

main()
