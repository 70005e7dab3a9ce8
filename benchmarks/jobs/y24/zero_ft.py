import argparse, os
import torch, deepspeed, deepspeed.comm as dist
from transformers import GPT2Config, GPT2LMHeadModel
ap = argparse.ArgumentParser(); ap.add_argument("--local_rank", type=int); ap = deepspeed.add_config_arguments(ap); a = ap.parse_args()
deepspeed.init_distributed(dist_backend="gloo")
torch.manual_seed(0); torch.set_num_threads(1)
m = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
e, *_ = deepspeed.initialize(args=a, model=m, model_parameters=m.parameters())
f = open("metrics/loss.csv", "a") if dist.get_rank() == 0 else None
g = torch.Generator().manual_seed(dist.get_rank())
for i in range(240):
    x = torch.randint(0, 128, (4, 32), generator=g).sort(1).values
    loss = e(input_ids=x, labels=x).loss
    e.backward(loss); e.step()
    if f: print(i, loss.item(), sep=",", file=f)
    if e.is_gradient_accumulation_boundary() and dist.get_rank() == 0: print(f"micro {i} global {e.global_steps} loss {loss.item():.4f} lr {e.get_lr()[0]:.6f}")
if f: f.close()
e.save_checkpoint("ds_ckpt", tag="last")
