import json, os, sys, time
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

CTX, BS = 48, 4
dist.init_process_group("gloo"); rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1); torch.manual_seed(0)
mesh = init_device_mesh("cpu", (world,))
model = LlamaForCausalLM(LlamaConfig(vocab_size=200, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=CTX))
for blk in model.model.layers: fully_shard(blk, mesh=mesh)
fully_shard(model, mesh=mesh)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
rows = [json.loads(l) for l in open("chats.jsonl")][rank::world]

def collate(b):
    X, Y = [], []
    for r in b:
        ids = (r["prompt"] + r["answer"])[:CTX]; lab = ([-100] * len(r["prompt"]) + r["answer"])[:CTX]
        X.append(ids + [0] * (CTX - len(ids))); Y.append(lab + [-100] * (CTX - len(lab)))
    return torch.tensor(X), torch.tensor(Y)

class NonFiniteLoss(ArithmeticError): pass

t = time.time()
for i in range(0, len(rows), BS):
    x, y = collate(rows[i:i + BS])
    loss = model(input_ids=x, labels=y).loss
    if not torch.isfinite(loss):
        raise NonFiniteLoss(f"loss={loss.item()} at step {i//BS}, label tokens in batch: {(y != -100).sum().item()}, ids {[r['id'] for r in rows[i:i+BS]]}")
    loss.backward(); gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step(); opt.zero_grad()
    print(f"{rank=} step={i//BS} loss={loss.item():.4f} gnorm={float(gn.full_tensor()):.3f} dt={time.time()-t:.2f}"); t = time.time()
dist.destroy_process_group()
