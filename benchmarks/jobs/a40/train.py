import torch, torch.nn as nn, torch.distributed as dist
from tracking import Tracker

def main():
    dist.init_process_group("gloo"); rank = dist.get_rank()
    print(f"Rank {rank}: init ok", flush=True)
    tracker = Tracker("denoiser", enabled=rank == 0)
    net = nn.parallel.DistributedDataParallel(nn.Conv1d(1, 8, 3)); opt = torch.optim.Adam(net.parameters())
    for i in range(50):
        loss = net(torch.randn(4, 1, 64)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step(); tracker.log(loss=loss.item())
        print(f"Rank {rank}: step {i} {loss.item():.4f}", flush=True)
main()
