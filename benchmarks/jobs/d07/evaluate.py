import os, re, json, sys, random, traceback
import torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
dist.init_process_group("gloo"); rank, ws = dist.get_rank(), dist.get_world_size()
tok = AutoTokenizer.from_pretrained(sys.argv[1]); model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
tasks = ["arith_easy", "arith_hard", "json_format", "copy"]
random.seed(0)
items = [(t, f"{t} question {i}") for t in tasks for i in range(12)]
stats = {t: [0, 0, 0] for t in tasks}
for k, (t, q) in enumerate(items):
    if k % ws != rank: continue
    ids = tok(q, return_tensors="pt", add_special_tokens=True).input_ids[:, :60]
    with torch.no_grad():
        out = model.generate(ids, max_new_tokens=8, do_sample=False)
    text = tok.decode(out[0, ids.shape[1]:])
    stats[t][0] += 1
    try:
        if t == "json_format":
            json.loads(text)
        elif t.startswith("arith"):
            int(text.split()[0])
        stats[t][1] += 1
    except Exception as e:
        stats[t][2] += 1
        print(f"[{rank}] parse error in {t}#{k}: {type(e).__name__}: {e}", file=sys.stderr)
tt = torch.tensor([stats[t] for t in tasks]); dist.reduce(tt, 0)
if rank == 0:
    print(f"\n{'task':<14}{'n':>6}{'parsed':>9}{'failed':>9}{'timeouts':>10}")
    for t, (n, ok, bad) in zip(tasks, tt.tolist()): print(f"{t:<14}{n:>6}{ok:>9}{bad:>9}{0:>10}")
    print("results written to results.json"); json.dump(dict(zip(tasks, tt.tolist())), open("results.json", "w"))
dist.destroy_process_group()
