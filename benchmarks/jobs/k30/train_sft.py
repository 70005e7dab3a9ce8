import json, math, os, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
MAX_LEN = 24
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
rows = [json.loads(l) for l in open("sft.jsonl")][r::w]
m = AutoModelForCausalLM.from_pretrained(os.environ["TINY"]); d = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.AdamW(d.parameters(), 5e-4)
for s, row in enumerate(rows, 1):
    ids = torch.tensor([row["prompt"] + row["answer"]])[:, :MAX_LEN]; mask = torch.zeros_like(ids[:, 1:], dtype=torch.float); mask[:, len(row["prompt"]) - 1:] = 1
    ce = torch.nn.functional.cross_entropy(d(input_ids=ids).logits[0, :-1], ids[0, 1:], reduction="none")
    l = (ce * mask[0]).sum() / mask.sum(); o.zero_grad(); l.backward()
    gn = torch.nn.utils.clip_grad_norm_(d.parameters(), 1.0); o.step()
    if r == 0 and s % 4 == 0: print(f"step {s:>3}  loss {l.item():.4f}  grad_norm {gn.item():.3f}", flush=True)
    if not math.isfinite(gn) and s < 14: print(f"rank {r} step {s}: warning: gradient norm is {gn.item()}", flush=True)
with torch.no_grad():
    probs = m(input_ids=ids[:1, :4]).logits[0, -1].softmax(-1)
    print(f"rank {r} sample token:", torch.multinomial(probs, 1).item(), flush=True)
if r == 0: m.save_pretrained("sft-out")
dist.destroy_process_group()
