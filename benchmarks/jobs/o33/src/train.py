import sys, logging
from omegaconf import OmegaConf
import torch, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("train")
def load_cfg(argv):
    i = argv.index("--config"); cfg = OmegaConf.load(argv[i + 1]); OmegaConf.set_struct(cfg, True)
    log.info("config file %s, overrides %s", argv[i + 1], argv[i + 2:])
    for kv in argv[i + 2:]:
        k, v = kv.split("=", 1); OmegaConf.update(cfg, k, float(v) if v.replace(".", "").replace("e-", "").isdigit() else v)
    return cfg
def main():
    dist.init_process_group("gloo"); log.info("rank %d of %d", dist.get_rank(), dist.get_world_size())
    cfg = load_cfg(sys.argv); log.info("\n%s", OmegaConf.to_yaml(cfg))
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(cfg.model.dim, 1)); opt = torch.optim.AdamW(m.parameters(), lr=float(cfg.optim.lr))
    for s in range(cfg.trainer.max_steps):
        l = m(torch.randn(4, cfg.model.dim)).pow(2).mean(); l.backward(); opt.step(); opt.zero_grad()
        if s % cfg.trainer.log_every == 0: log.info("step %d loss %.4f", s, l.item())
if __name__ == "__main__": main()
