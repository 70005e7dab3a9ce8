"""Distil a small teacher into a tiny student; every rank augments its own part of the corpus in Python."""
import argparse, os, random, re
import torch, torch.distributed as dist
import torch.nn.functional as F
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel

def make(l): return GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=128, n_embd=32, n_layer=l, n_head=2, bos_token_id=0, eos_token_id=0))

def augment(text, rules, rng):
    for pat, rep in rules:
        text = re.sub(pat, rep, text)
    return "".join(c.upper() if rng.random() < .05 else c for c in text)

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int); a = ap.parse_args()
    dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size(); torch.set_num_threads(1)
    rng = random.Random(r); torch.manual_seed(0)
    teacher, student = make(3).eval(), make(1)
    student = torch.nn.parallel.DistributedDataParallel(student); opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
    rules = [(r"(\w+) (\w+)", r"\2 \1"), (r"a+", "a"), (r"(?:e|i)+$", "")]
    # language 1 has by far the longest raw pages
    pages = ["".join(rng.choice("abcdefghij klmnop") for _ in range(60000 if r == 1 else 900)) for _ in range(160)]
    it = tqdm(range(a.epochs * len(pages) // 4), desc=f"rank{r}", mininterval=1.0, position=0)
    for s in it:
        batch = [augment(p, rules, rng) for p in pages[4 * s % len(pages):][:4]]
        x = torch.tensor([[ord(c) % 256 for c in b[:100].ljust(100)] for b in batch])
        with torch.no_grad(): t = teacher(x).logits
        loss = F.kl_div(F.log_softmax(student(x).logits, -1), F.softmax(t, -1), reduction="batchmean")
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 10 == 0: it.write(f"[distill r{r}] step {s} kl {loss.item():.4f}")
    if r == 0: torch.save(student.module.state_dict(), "student.pt")
    dist.destroy_process_group()
main()
