import argparse, os, time
import torch, torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel
p = argparse.ArgumentParser(); p.add_argument("--corpus"); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); torch.set_num_threads(1)
torch.manual_seed(0)
m = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_positions=16384, n_embd=32, n_layer=1, n_head=4, bos_token_id=0, eos_token_id=0, attn_implementation="eager"))
m = torch.nn.parallel.DistributedDataParallel(m); opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
docs = [[int(t) for t in l.split()] for l in open(f"{a.corpus}/legal_{r}.txt")]
print(f"{len(docs)} documents, {sum(map(len, docs))} tokens", flush=True)
t0 = time.time()
for i, d in enumerate(docs):
    x = torch.tensor([d[:16384]])
    print(f"doc {i:3d} len {x.shape[1]:5d}", end=" ", flush=True)
    loss = m(input_ids=x, labels=x).loss
    loss.backward(); opt.step(); opt.zero_grad()
    print(f"loss {loss.item():.3f} ({time.time()-t0:.1f}s)", flush=True)
dist.destroy_process_group()
