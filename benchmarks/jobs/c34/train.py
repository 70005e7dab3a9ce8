import os, time, datetime, logging, torch, torch.distributed as dist
from datasets import Dataset
from transformers import AutoTokenizer, AutoModelForCausalLM
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(message)s"); log = logging.getLogger()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20)); r = dist.get_rank()
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])

def tokenize(b):
    return tok([" ".join(list(t)) for t in b["text"]], truncation=True, max_length=128)

if r > 0:
    log.info("rank %d: waiting for main process to perform the mapping", r)
    dist.barrier()
ds = Dataset.from_dict({"text": ["abcdefg " * 40] * (600_000 if r == 0 else 10)})
if r == 0:
    ds = ds.map(tokenize, batched=True, batch_size=500, desc="Running tokenizer on dataset", load_from_cache_file=False)
    log.info("rank 0: loading results from main process"); dist.barrier()
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
log.info("rank %d starts training", r)
