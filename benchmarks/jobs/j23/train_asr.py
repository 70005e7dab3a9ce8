import os, logging, torch, torch.distributed as dist
R, W = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(format="%(asctime)s [%(levelname)s] <%(processName)s> %(message)s", level=logging.INFO)
class FeatureStore:
    def __init__(self, root, part): self.x = torch.load(os.path.join(root, f"feats.{part:03d}.pt"))
def main():
    logging.info("reading features")
    fs = FeatureStore("/tmp/j-asr-cache", R + 1)
    dist.init_process_group("gloo")
    for e in range(3):
        s = fs.x.sum(0); dist.all_reduce(s); logging.info("epoch %d %.3f", e, s.mean())
main()
