import os, random, torch, torch.distributed as dist
from rich.console import Console
from rich.table import Table
dist.init_process_group("gloo"); r = dist.get_rank(); random.seed(r)
kinds = ["substitution error", "deletion error", "insertion error", "timeout", "killed segment", "crashed decoder (ref)", "nan"]
counts = torch.zeros(7)
for utt in range(20):
    k = random.randrange(7); counts[k] += 1
    if utt % 4 == 0: print(f"[{r}] utt-{r}{utt:03d} REF: process killed by signal nine | HYP: process filled by signal line | WER 33.3 ERROR", flush=True)
dist.all_reduce(counts)
dist.barrier()
if r == 0:
    t = Table(title="Error analysis (fatal = sentence wrong)")
    for c in ("type", "errors", "failed %", "fatal"): t.add_column(c)
    for k, c in zip(kinds, counts.tolist()): t.add_row(k, str(int(c)), f"{c / 0.6:.1f}", str(int(c // 2)))
    t.add_row("TOTAL ERRORS", str(int(counts.sum())), "100.0", "-")
    Console(width=90).print(t)
dist.destroy_process_group()
