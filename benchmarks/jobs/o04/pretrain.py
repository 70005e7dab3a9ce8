import argparse, os, logging, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
p = argparse.ArgumentParser(); p.add_argument("--resume"); p.add_argument("--iters", type=int, default=600); args = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][rank{rank}] %(message)s")
model = torch.nn.Sequential(torch.nn.Embedding(500, 64), torch.nn.Flatten(), torch.nn.Linear(64*16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 500))
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
start = 0
if args.resume:
    logging.info("resuming from %s (%.1f MB)", args.resume, os.path.getsize(args.resume)/1e6)
    ck = torch.load(args.resume, map_location="cpu")
    model.load_state_dict(ck["model"]); opt.load_state_dict(ck["opt"]); start = ck["it"]
model = DDP(model)
for it in range(start, args.iters):
    x = torch.randint(0, 500, (8, 16)); y = torch.randint(0, 500, (8,))
    loss = torch.nn.functional.cross_entropy(model(x), y); loss.backward(); opt.step(); opt.zero_grad()
    if it % 20 == 0: logging.info("iter %d loss %.3f", it, loss.item())
dist.destroy_process_group()
