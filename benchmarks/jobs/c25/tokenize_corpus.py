import os, sys, time
from datasets import Dataset
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
os.makedirs("pids", exist_ok=True)

def encode(batch, rank):
    open(f"pids/{rank}", "w").write(str(os.getpid()))
    time.sleep(0.3)
    return tok(batch["text"], truncation=True, max_length=64)

ds = Dataset.from_dict({"text": ["a b c d e f g h " * 4] * 20000})
print("rows", len(ds), flush=True)
ds = ds.map(encode, batched=True, batch_size=200, num_proc=2, with_rank=True, remove_columns=["text"], desc="Tokenizing")
ds.save_to_disk("tokenized")
print("saved", len(ds))
