import argparse, os
from datetime import timedelta
import torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
ap = argparse.ArgumentParser(); ap.add_argument("--base"); a = ap.parse_args()
dist.init_process_group("gloo", timeout=timedelta(seconds=40))
print(f"{os.environ['NODE']}: rank {dist.get_rank()} base {a.base}", flush=True)
model = AutoModelForCausalLM.from_pretrained(a.base)
model = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(model.parameters(), 1e-3)
for s in range(12):
    x = torch.randint(0, 512, (4, 64))
    loss = model(input_ids=x, labels=x).loss
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"{os.environ['NODE']}: step {s} loss {loss.item():.3f}", flush=True)
dist.destroy_process_group()
