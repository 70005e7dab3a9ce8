import argparse, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
p = argparse.ArgumentParser(); p.add_argument("--vocab", type=int); p.add_argument("--load"); p.add_argument("--save"); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(0)
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = torch.nn.Sequential(torch.nn.Embedding(a.vocab, 32), torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, a.vocab))
fully_shard(model, mesh=mesh)
if a.load:
    sd = {"model": get_model_state_dict(model)}; dcp.load(sd, checkpoint_id=a.load); set_model_state_dict(model, sd["model"]); print(f"[rank {r}] loaded {a.load}", flush=True)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for s in range(30):
    x = torch.randint(0, a.vocab, (4, 17)); loss = torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()); loss.backward(); opt.step(); opt.zero_grad()
    if s % 10 == 0: print(f"[rank {r}] step {s} loss {loss.item():.3f}", flush=True)
dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=a.save)
if r == 0: print("saved", a.save)
dist.destroy_process_group()
