import os, json, datetime, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25)); r, w = dist.get_rank(), dist.get_world_size()
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"]).eval()
samples = [torch.randint(4, 30, (1, 12 + i % 5), generator=torch.Generator().manual_seed(i)) for i in range(61)]
mine = samples[r::w]
if r == 0: print(f"evaluating {len(samples)} samples on {w} ranks", flush=True)
losses = []
with torch.no_grad():
    for i, ids in enumerate(mine):
        l = model(input_ids=ids, labels=ids).loss
        buf = [torch.zeros_like(l) for _ in range(w)]
        dist.all_gather(buf, l); losses += [b.item() for b in buf]
        if i % 5 == 0: print(f"[rank {r}] {i + 1}/{len(mine)} running loss {sum(losses) / len(losses):.4f}", flush=True)
print(f"[rank {r}] done", flush=True)
dist.barrier()
if r == 0: json.dump({"loss": sum(losses) / len(losses)}, open("metrics.json", "w"))
