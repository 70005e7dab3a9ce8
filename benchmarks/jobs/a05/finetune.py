import argparse, json, logging, os, time
from datetime import timedelta
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoTokenizer, AutoModelForCausalLM

log = logging.getLogger("finetune")

def tokenize_file(tok, path, cache):
    ids = []
    t0 = time.time()
    with open(path) as f:
        lines = f.readlines()
    log.info("tokenizing %s (%d documents), cache %s not found", path, len(lines), cache)
    for i, line in enumerate(lines):
        ids.append(tok(json.loads(line)["text"])["input_ids"])
        if (i + 1) % 20000 == 0:
            log.info("  %d/%d documents, %.0f docs/s", i + 1, len(lines), (i + 1) / (time.time() - t0))
    torch.save(ids, cache)
    return ids

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model"); p.add_argument("--data"); p.add_argument("--cache", default="train.cache.pt")
    p.add_argument("--ddp-timeout", type=int, default=1800)
    a = p.parse_args()
    dist.init_process_group("gloo", timeout=timedelta(seconds=a.ddp_timeout))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(name)s r{rank} | %(message)s")
    tok = AutoTokenizer.from_pretrained(a.model)
    if rank == 0 and not os.path.exists(a.cache):
        tokenize_file(tok, a.data, a.cache)
    log.info("waiting for the data to be ready")
    dist.barrier()
    ids = torch.load(a.cache)
    model = DDP(AutoModelForCausalLM.from_pretrained(a.model))
    log.info("%d documents", len(ids))

if __name__ == "__main__":
    main()
