import json, sys, torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer
from tqdm import tqdm
dist.init_process_group("gloo"); rank = dist.get_rank()
tok = AutoTokenizer.from_pretrained(sys.argv[1]); model = torch.nn.parallel.DistributedDataParallel(AutoModelForCausalLM.from_pretrained(sys.argv[1]))
rows = [json.loads(l) for l in open("train.jsonl")]
data = [r for r in rows if r.get("prompt") and r.get("response")]
if rank == 0: print(f"loaded {len(rows)} rows from train.jsonl (keys: {sorted(rows[0])}), kept {len(data)} with prompt and response", flush=True)
dl = DataLoader(data, batch_size=4, sampler=DistributedSampler(data), collate_fn=lambda b: tok([r["prompt"] + " " + r["response"] for r in b], padding=True, return_tensors="pt"))
opt = torch.optim.AdamW(model.parameters(), 1e-4)
for ep in range(3):
    tot = n = 0
    for b in tqdm(dl, disable=rank != 0, desc=f"Epoch {ep+1}/3"):
        l = model(**b, labels=b["input_ids"]).loss; opt.zero_grad(); l.backward(); opt.step(); tot += l.item(); n += 1
    if rank == 0: print(f"Epoch {ep+1}: {n} steps, train loss {tot / max(n, 1):.4f}", flush=True)
if rank == 0:
    model.module.save_pretrained("sft_model"); print("Model saved to sft_model", flush=True)
dist.destroy_process_group()
