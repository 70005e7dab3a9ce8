import argparse, json, math
import torch
from accelerate import Accelerator

ap = argparse.ArgumentParser()
ap.add_argument("--warmup", type=int); ap.add_argument("--lr", type=float)
a = ap.parse_args()
acc = Accelerator(cpu=True)
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=a.lr)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) ** 2 / 9000))
net, opt, sched = acc.prepare(net, opt, sched)
skipped = 0
for step in range(400):
    x = torch.randn(16, 24); y = x.sum(1, keepdim=True)
    loss = torch.nn.functional.mse_loss(net(x), y)
    acc.backward(loss)
    gn = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
    opt.step(); sched.step(); opt.zero_grad()
    total = acc.gather(loss.detach()).mean().item()
    if acc.is_main_process:
        print(json.dumps({"step": step, "loss": total, "grad_norm": float(gn), "lr": sched.get_last_lr()[0]}))
    if not math.isfinite(total):
        skipped += 1
        if acc.is_main_process:
            print(json.dumps({"step": step, "level": "warning", "msg": f"non-finite loss, {skipped} in a row"}))
        if skipped >= 5:
            raise FloatingPointError(f"loss is {total} for {skipped} steps in a row at step {step}, giving up")
    else:
        skipped = 0
acc.wait_for_everyone()
acc.save(acc.unwrap_model(net).state_dict(), "model.pt")
