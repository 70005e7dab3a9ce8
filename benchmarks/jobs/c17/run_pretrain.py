import os, argparse, numpy as np, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--seq_len", type=int, default=128)
p.add_argument("--tokens", type=int, default=2_000_000_000)
a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
tok = AutoTokenizer.from_pretrained(a.model); model = AutoModelForCausalLM.from_pretrained(a.model)
print(f"(rank {rank}) model ready: {sum(q.numel() for q in model.parameters())} params", flush=True)

def pack(text, n):
    ids = torch.tensor(tok(text)["input_ids"])
    reps = n // ids.numel()
    return ids.repeat(reps)[: n // a.seq_len * a.seq_len].view(-1, a.seq_len)

if rank == 0:
    print("packing corpus ...", flush=True)
    packed = pack("a b c d e f g " * 200, a.tokens)
    np.save("packed.npy", packed.numpy())
dist.barrier()
data = np.load("packed.npy", mmap_mode="r")
for s in range(20):
    x = torch.tensor(data[s:s + 2]); l = model(input_ids=x, labels=x).loss; l.backward()
    print(rank, s, l.item(), flush=True)
