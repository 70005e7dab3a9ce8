import argparse, logging
import torch
from transformers import (AutoTokenizer, GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments,
                          default_data_collator, set_seed)

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(name)s: %(message)s")
log = logging.getLogger("finetune")
ap = argparse.ArgumentParser(); ap.add_argument("--tok"); ap.add_argument("--max_steps", type=int); a = ap.parse_args()
set_seed(3)
tok = AutoTokenizer.from_pretrained(a.tok)
lines = open("corpus.txt").read().splitlines()
ids = [i for l in lines[:1300] for i in tok(l)["input_ids"] + [tok.eos_token_id]]
BS = 32
blocks = [ids[i:i + BS] for i in range(0, len(ids) - BS, BS)]
train = [{"input_ids": b, "labels": b} for b in blocks]
log.info("packed %d tokens to %d blocks", len(ids), len(train))
m = GPT2LMHeadModel(GPT2Config(vocab_size=len(tok), n_layer=2, n_head=2, n_embd=64, n_positions=128,
                               bos_token_id=tok.bos_token_id, eos_token_id=tok.eos_token_id))
log.info("model has %d parameters", m.num_parameters())
tr = Trainer(model=m, args=TrainingArguments("out", max_steps=a.max_steps, per_device_train_batch_size=8, logging_steps=2,
             save_strategy="no", report_to=[], use_cpu=True, learning_rate=3e-3), train_dataset=train, data_collator=default_data_collator)
tr.train()
log.info("training done, saving")
tr.save_model("out/final")
log.info("scoring the held out sentences")


@torch.no_grad()
def score(batch):
    enc = tok(batch, return_tensors="pt", padding="longest")
    lab = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
    return m(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=lab).loss.item()


m.eval()
try:
    tot = []
    for i in range(1300, 1500, 20):
        tot.append(score(lines[i:i + 20]))
        log.info("batch %d nll %.3f", i, tot[-1])
    log.info("held out nll %.3f", sum(tot) / len(tot))
finally:
    log.info("artifacts: out/final (model.safetensors, config.json)")
    for n, p in m.named_parameters():
        log.info("   %-40s %-16s norm %.3f", n, tuple(p.shape), p.norm())
