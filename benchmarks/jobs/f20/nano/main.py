import sys, torch.distributed as dist
from nano import config
from omegaconf import OmegaConf

def main():
    dist.init_process_group("gloo")
    cfg = config.load(sys.argv[1:])
    if dist.get_rank() == 0:
        print("---- config ----"); print(OmegaConf.to_yaml(cfg)); print("----------------", flush=True)
    dist.barrier()
    bad = config.validate(cfg, dist.get_world_size())
    if bad:
        if dist.get_rank() == 0:
            print("config check failed:", *bad, sep="\n  - ", file=sys.stderr, flush=True)
        sys.exit(2)

main()
