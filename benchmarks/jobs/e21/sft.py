import os, glob, sys, shutil
import torch, torch.distributed as dist
R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29741", rank=R, world_size=W)
net = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
start = 0
last = sorted(glob.glob(f"state/rank{R}/step*.ckpt"))
if last:
    print("restoring", last[-1], f"({os.path.getsize(last[-1])} bytes)", flush=True)
    sd = torch.load(last[-1], map_location="cpu")
    net.load_state_dict(sd["net"]); start = sd["step"]
dist.barrier()
os.makedirs(f"state/rank{R}", exist_ok=True)
opt = torch.optim.SGD(net.parameters(), 0.01)
for s in range(start, start + 10):
    out = net(torch.randn(2, 6, 32)).pow(2).mean(); opt.zero_grad(); out.backward()
    for p in net.parameters(): dist.all_reduce(p.grad)
    opt.step(); print(f"s={s} out={out.item():.4f}", flush=True)
torch.save({"net": net.state_dict(), "step": start + 10}, f"state/rank{R}/step{start+10:05d}.ckpt")
dist.barrier()
