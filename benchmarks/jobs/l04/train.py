import logging, os, sys, time
import torch, torch.nn as nn, torch.distributed as dist

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] %(message)s", datefmt="%H:%M:%S")
logger = logging.getLogger(__name__)

def save(model, opt, step):
    path = f"scratch/ckpt/step_{step:06d}.pt"
    try:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, path)
    except Exception as e:
        logger.error("save of %s: %s", path, e)
        return False
    logger.info("saved %s (%.1f MB)", path, os.path.getsize(path) / 1e6)
    return True

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    os.makedirs("scratch/ckpt", exist_ok=True)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))
    model = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 201):
        x = torch.randn(16, 512)
        loss = (model(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0 and step % 5 == 0:
            logger.info("step %d/200 loss=%.5f", step, loss.item())
        ok = torch.ones(1)
        if step % 20 == 0:
            if rank == 0:
                ok[0] = float(save(net, opt, step))
            dist.broadcast(ok, 0)
            if not ok.item():
                if rank == 0:
                    logger.info("stopping after step %d, shutting down process group", step)
                dist.destroy_process_group()
                sys.exit(1)
    dist.destroy_process_group()

main()
