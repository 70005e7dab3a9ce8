import argparse, os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--outdir", default="/results"); ap.add_argument("--steps", type=int, default=12); a = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = DDP(torch.nn.Linear(32, 8))
    opt = torch.optim.AdamW(net.parameters())
    for s in range(1, a.steps + 1):
        loss = net(torch.randn(16, 32)).square().mean(); opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0:
            print(f"step {s:3d} | loss {loss.item():.4f}", flush=True)
        if s % 5 == 0:
            if rank == 0:
                os.makedirs(f"{a.outdir}/step{s}", exist_ok=True)
                torch.save(net.module.state_dict(), f"{a.outdir}/step{s}/model.pt")
            dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
