import sys, yaml, logging, torch, torch.nn as nn, torch.distributed as dist

def build(cfg):
    d = cfg["d_model"]
    return nn.ModuleDict({"embed": nn.Embedding(500, d), "body": nn.TransformerEncoderLayer(d, 4, 2 * d, batch_first=True), "head": nn.Linear(d, cfg["n_classes"])})

def main(path):
    cfg = yaml.safe_load(open(path))
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO, format=f"rank{dist.get_rank()} %(levelname)s: %(message)s")
    net = build(cfg["model"])
    logging.info("initialising from %s", cfg["init_from"])
    net.load_state_dict(torch.load(cfg["init_from"]))
    logging.info("weights loaded")

if __name__ == "__main__":
    main(sys.argv[1])
