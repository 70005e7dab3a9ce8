import argparse, os, torch, torch.nn as nn, deepspeed, deepspeed.comm as dist
p = argparse.ArgumentParser()
p.add_argument("--local_rank", type=int, default=0)
p.add_argument("--save_dir", default="ckpt")
p.add_argument("--resume", action="store_true")
p.add_argument("--max_steps", type=int, default=10)
p.add_argument("--save_every", type=int, default=5)
args = p.parse_args()

class MLP(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 256), nn.GELU(), nn.Linear(256, d))
    def forward(self, x, y):
        return nn.functional.mse_loss(self.net(x), y)

cfg = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1,
       "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
       "zero_optimization": {"stage": 1}, "steps_per_print": 1000}
deepspeed.init_distributed("gloo")
torch.manual_seed(0)
m = MLP()
engine, *_ = deepspeed.initialize(model=m, model_parameters=m.parameters(), config=cfg)
start = 0
if args.resume:
    path, state = engine.load_checkpoint(args.save_dir)
    start = state["step"] + 1
    if dist.get_rank() == 0:
        print(f"resumed from {path} at step {start}", flush=True)
for step in range(start, args.max_steps):
    x = torch.randn(8, 64)
    loss = engine(x, x.roll(1, 1))
    engine.backward(loss); engine.step()
    if dist.get_rank() == 0:
        print(f"[train] step={step} loss={loss.item():.5f}", flush=True)
    if (step + 1) % args.save_every == 0:
        engine.save_checkpoint(args.save_dir, client_state={"step": step})
