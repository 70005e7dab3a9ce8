import logging, os, random
from datetime import timedelta
from accelerate import Accelerator, InitProcessGroupKwargs
from datasets import Dataset
from transformers import AutoTokenizer
import torch
logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(process)d %(message)s", datefmt="%H:%M:%S")
acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=15))])
logging.info("process %d/%d", acc.process_index, acc.num_processes)
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
rng = random.Random(1)
raw = Dataset.from_dict({"text": [" ".join(str(rng.random()) for _ in range(800)) for _ in range(6000)]})

def encode(ex):
    ids = tok(ex["text"])["input_ids"]
    grams = {}
    for i in range(len(ids) - 3):
        k = tuple(ids[i:i + 3]); grams[k] = grams.get(k, 0) + 1
    return {"input_ids": ids[:512], "uniq": len(grams) / len(ids)}

with acc.main_process_first():
    ds = raw.map(encode, remove_columns=["text"], desc="Tokenizing + dedup stats")
logging.info("dataset has %d rows", len(ds))
acc.wait_for_everyone()
