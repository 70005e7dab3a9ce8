import argparse, configparser, os, sys, time, datetime
import numpy as np
import torch
import torch.distributed as dist
from reader import BlobReader

rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); ws = int(os.environ["OMPI_COMM_WORLD_SIZE"])
p = argparse.ArgumentParser(); p.add_argument("--hosts"); p.add_argument("--steps", type=int); a = p.parse_args()
cp = configparser.ConfigParser(); cp.read(a.hosts)
me = cp[str(rank)]


def say(msg):
    sys.stdout.write(f"<{me['name']}> {time.strftime('%H:%M:%S')} {msg}\n")
    sys.stdout.flush()


say(f"process {rank} of {ws}, torch {torch.__version__}")
r = BlobReader(f"blobs/part-{rank:05d}.bin", me.getint("read_kbps"), me.getint("burst_kb"))
say(f"opened part-{rank:05d}.bin, volume burst {me['burst_kb']} KiB, baseline {me['read_kbps']} KiB/s")
dist.init_process_group("gloo", rank=rank, world_size=ws, timeout=datetime.timedelta(seconds=10))
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
seen = 0
for step in range(1, a.steps + 1):
    buf = r.read(65536); seen += 64
    x = torch.from_numpy(np.frombuffer(buf, dtype=np.uint8).astype("f4").reshape(-1, 256) / 255)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for q in net.parameters():
        dist.all_reduce(q.grad); q.grad /= ws
    opt.step()
    say(f"step {step:4d}/{a.steps} mse {loss.item():.5f} read {seen} KiB")
dist.barrier()
say("end of run")
