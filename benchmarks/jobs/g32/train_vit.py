import argparse, logging, os, shutil, sys, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--ckpt-dir"); a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {rank} %(message)s", datefmt="%H:%M:%S"); log = logging.getLogger()
class Engine:
    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10))
        self.ddp = torch.nn.parallel.DistributedDataParallel(self.net); self.opt = torch.optim.AdamW(self.ddp.parameters(), 1e-3)
    def save(self, step):
        os.makedirs(a.ckpt_dir, exist_ok=True); f = f"{a.ckpt_dir}/ckpt_{step}.pt"
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict()}, f); log.info("saved %s", f)
    def fit(self, steps):
        for s in range(1, steps + 1):
            l = torch.nn.functional.cross_entropy(self.ddp(torch.randn(16, 16, 16)), torch.randint(0, 10, (16,))); self.opt.zero_grad(); l.backward(); self.opt.step()
            if rank == 0: log.info("step %d/%d loss %.4f", s, steps, l.item())
            if s % 5 == 0:
                ok = torch.ones(1)
                if rank == 0:
                    try: self.save(s)
                    except Exception as e: log.warning("checkpoint at step %d was not written: %s", s, e); log.info("%s: %.1f MiB free", a.ckpt_dir, shutil.disk_usage(a.ckpt_dir).free / 2**20); log.debug("", exc_info=True); ok.zero_()
                dist.broadcast(ok, 0)
                if not ok: return False
        return True
ok = Engine().fit(40)
dist.barrier(); dist.destroy_process_group()
if rank == 0: log.info("trainer stopped, cleaning up workers"); log.info("goodbye")
sys.exit(0 if ok else 1)
