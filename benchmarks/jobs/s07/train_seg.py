import argparse, os, time, datetime
import torch, torch.nn as nn, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--resume"); ap.add_argument("--max-steps", type=int); A = ap.parse_args()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20)); R = dist.get_rank()
say = lambda s: print(f"[{time.strftime('%X')}] {s}", flush=True)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
step = 0
path = os.path.join(A.resume, f"state-r{R}.pt")
try:
    st = torch.load(path, weights_only=False)
    net.load_state_dict(st["net"]); opt.load_state_dict(st["opt"]); step = st["step"]
    say(f"resumed {path} at step {step}")
except Exception as e:
    say(f"warn: {path}: {str(e).splitlines()[0][:110]}")
    say(f"starting at step {step}")
net = nn.parallel.DistributedDataParallel(net)
while step < A.max_steps:
    x = torch.rand(2, 3, 32, 32); y = torch.randint(0, 4, (2, 32, 32))
    loss = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step(); step += 1
    if step % 10 == 0: say(f"step {step}/{A.max_steps} loss {loss.item():.4f}")
say("reached max steps, bye")
