import yaml, os, torch, torch.distributed as dist

class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self._init_distributed()
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, cfg["hidden"]))

    def _init_distributed(self):
        dist.init_process_group(backend=self.cfg["backend"])

    def fit(self):
        for e in range(self.cfg["epochs"]):
            print("epoch", e)

if __name__ == "__main__":
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    if os.environ.get("RANK") == "0":
        print("config:", cfg, flush=True)
    Trainer(cfg).fit()
