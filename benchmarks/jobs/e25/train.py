import datetime, json, os, random
import torch, torch.distributed as dist
from prepare_data import train_bpe
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=18))
rank = dist.get_rank()
print(f"[{rank}] init done", flush=True)
if rank == 0 and not os.path.exists("merges.json"):
    random.seed(0)
    text = " ".join("".join(random.choice("abcdefghijklmnop") for _ in range(9)) for _ in range(20000))
    print(f"[{rank}] tokenizing corpus ({len(text)} chars)", flush=True)
    json.dump(train_bpe(text, 2000), open("merges.json", "w"))
dist.barrier()
print(f"[{rank}] {len(json.load(open('merges.json')))} merges", flush=True)
