import os, re, random, torch
from datetime import timedelta
from accelerate import Accelerator, InitProcessGroupKwargs
acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo", timeout=timedelta(seconds=20))])
def log(m): print(f"{acc.process_index}> {m}", flush=True)
def build_bpe(lines, merges):
    words = [list(w) for l in lines for w in l.split()]
    for k in range(merges):
        c = {}
        for w in words:
            for a, b in zip(w, w[1:]): c[a, b] = c.get((a, b), 0) + 1
        if not c: break
        best = max(c, key=c.get)
        for w in words:
            i = 0
            while i < len(w) - 1:
                if (w[i], w[i + 1]) == best: w[i:i + 2] = ["".join(best)]
                i += 1
        if k % 20 == 0: log(f"merge {k}/{merges} {best[0]}+{best[1]}")
rng = random.Random(0)
log(f"ready, {acc.num_processes} processes")
with acc.main_process_first():
    if acc.is_main_process:
        lines = [" ".join("".join(rng.choice("etaoinshrdlu") for _ in range(7)) for _ in range(12)) for _ in range(6000)]
        log(f"building the vocabulary from {len(lines)} lines")
        build_bpe(lines, 2000)
model = acc.prepare(torch.nn.Linear(4, 4))
log("training")
