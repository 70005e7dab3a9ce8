import os, time, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def load_features():
    return torch.load("staging/features.pt", weights_only=True)

def main():
    rank = int(os.environ["RANK"])
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT")
    print(f"[rank {rank}] attempt {attempt}, pid {os.getpid()}", flush=True)
    open(f"started.{rank}", "w").close()
    feats = load_features()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(nn.Linear(32, 32)); opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(40):
        x = feats[torch.randint(len(feats), (16,))]
        loss = (model(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0 and step % 4 == 0:
            print(f"step {step}: loss={loss.item():.4f}", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
        print("training finished, 40/40 steps", flush=True)
    dist.destroy_process_group()
main()
