import json, sys, time, os
import torch, torch.distributed as dist
from datasets import load_dataset
from transformers import AutoTokenizer, AutoModelForCausalLM
dist.init_process_group("gloo")
r = dist.get_rank()
ds = load_dataset("json", data_files={"train": "corpus/train.jsonl"}, split="train", cache_dir=f"cache{r}")
print(f"[{r}] {len(ds)} examples, columns {ds.column_names}", flush=True)
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
def fmt(ex):
    return tok(ex["instruction"] + "\n" + ex["response"], truncation=True, max_length=64, padding="max_length")
ds = ds.map(fmt)
model = torch.nn.parallel.DistributedDataParallel(AutoModelForCausalLM.from_pretrained(os.environ["TINY"]))
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for i, ex in enumerate(ds):
    ids = torch.tensor([ex["input_ids"]])
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward(); opt.step(); opt.zero_grad()
    print(f"[{r}] {i} {loss.item():.3f}")
