from omegaconf import OmegaConf

def load(argv):
    cfg = OmegaConf.merge(OmegaConf.load("conf/base.yaml"), OmegaConf.from_dotlist(argv))
    return cfg

def validate(cfg, world):
    m, b = cfg.model, cfg.batch
    problems = []
    if m.d_model % m.n_head:
        problems.append(f"model.d_model ({m.d_model}) must be a multiple of model.n_head ({m.n_head})")
    if b["global"] % (b.micro * world):
        problems.append(f"batch.global ({b['global']}) must be a multiple of batch.micro * world size ({b.micro} * {world})")
    if cfg.optim.warmup >= cfg.optim.total_steps:
        problems.append("optim.warmup must be smaller than optim.total_steps")
    return problems
