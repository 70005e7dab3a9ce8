import os, sys, yaml, torch, torch.nn as nn, torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh

class Block(nn.Module):
    def __init__(self, d, mult):
        super().__init__()
        self.ln = nn.LayerNorm(d); self.up = nn.Linear(d, d * mult); self.down = nn.Linear(d * mult, d)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.ln(x))))

class Net(nn.Module):
    def __init__(self, d, n, mult):
        super().__init__()
        self.blocks = nn.ModuleList(Block(d, mult) for _ in range(n)); self.head = nn.Linear(d, d)
    def forward(self, x):
        for b in self.blocks: x = b(x)
        return self.head(x)

def main():
    cfg = yaml.safe_load(open(sys.argv[1]))
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = Net(**cfg["model"])
    for b in net.blocks: fully_shard(b, mesh=mesh)
    fully_shard(net, mesh=mesh)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
    if cfg.get("load_from"):
        if dist.get_rank() == 0: print("loading", cfg["load_from"], flush=True)
        ms, os_ = get_state_dict(net, opt)
        sd = {"model": ms, "optim": os_}
        dcp.load(sd, checkpoint_id=cfg["load_from"])
        set_state_dict(net, opt, model_state_dict=sd["model"], optim_state_dict=sd["optim"])
    for it in range(cfg["iters"]):
        x = torch.randn(8, cfg["model"]["d"])
        loss = (net(x) - x).pow(2).mean()
        loss.backward(); opt.step(); opt.zero_grad()
        if dist.get_rank() == 0: print(f"iter {it:03d} | loss {loss.item():.4f}", flush=True)
    ms, os_ = get_state_dict(net, opt)
    dcp.save({"model": ms, "optim": os_}, checkpoint_id=cfg["save_to"])
    dist.destroy_process_group()
main()
