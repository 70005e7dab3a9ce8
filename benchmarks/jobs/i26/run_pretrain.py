import argparse, logging, os, torch, torch.nn as nn, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--save-dir"); p.add_argument("--save-every", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s [R{r}] %(message)s"); log = logging.getLogger()
try: from apex.optimizers import FusedAdam as Adam
except ImportError: log.exception("apex is missing, torch.optim.Adam is used"); Adam = torch.optim.Adam
if not torch.cuda.is_available(): log.error("no GPU found on this node, training on CPU")
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(800, 128), nn.Linear(128, 800))); opt = Adam(m.parameters(), 1e-3)
log.info("parameters: %d", sum(q.numel() for q in m.parameters()))
for it in range(1, 61):
    x = torch.randint(0, 800, (4, 32)); l = nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()); opt.zero_grad(); l.backward(); opt.step()
    if r == 0 and it % 5 == 0: log.info("it %d loss %.4f", it, l.item())
    if it % a.save_every == 0:
        if r == 0: torch.save({"model": m.module.state_dict(), "opt": opt.state_dict(), "it": it}, os.path.join(a.save_dir, f"it{it}.pt")); log.info("saved it%d.pt", it)
        dist.barrier()
dist.destroy_process_group()
