"""Continued pre-training: main process tokenises and packs once, the others read the cache."""
import argparse, datetime, unicodedata, re
import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.logging import get_logger
import logging
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

ap = argparse.ArgumentParser(); ap.add_argument("--docs"); ap.add_argument("--ddp-timeout", type=int, default=1800); a = ap.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=datetime.timedelta(seconds=a.ddp_timeout))])
log = get_logger("cpt")
log.info(f"process group timeout {a.ddp_timeout}s, {acc.num_processes} processes", main_process_only=True)

def clean_and_encode(ex):
    t = unicodedata.normalize("NFKC", ex["text"])
    for n in range(8, 2, -1):                       # drop repeated n-grams
        t = re.sub(r"\b(\w+(?: \w+){%d})\b(?=.*\b\1\b)" % (n - 1), "", t)
    return {"input_ids": [ord(c) % 128 for c in t][:128]}

raw = load_dataset("json", data_files=a.docs, split="train")
with acc.main_process_first():
    log.info(f"rank {acc.process_index}: preparing {len(raw)} documents", main_process_only=False)
    ds = raw.map(clean_and_encode, remove_columns=raw.column_names, desc="clean+encode").with_format("torch")
log.info(f"rank {acc.process_index}: dataset ready ({len(ds)})", main_process_only=False)
model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=128, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
model, opt, dl = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3), DataLoader(ds, batch_size=8))
for s, b in enumerate(dl):
    loss = model(input_ids=b["input_ids"], labels=b["input_ids"]).loss
    acc.backward(loss); opt.step(); opt.zero_grad()
    if s % 10 == 0: log.info(f"step {s} loss {loss.item():.3f}")
acc.save_model(model, "out")
