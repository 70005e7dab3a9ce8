import os, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Clips(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        w = torch.utils.data.get_worker_info()
        if i % 50 == 0: open(f"tmp/loader_r{os.environ['RANK']}_w{w.id}", "w").write(str(os.getpid()))
        time.sleep(0.02)
        return torch.randn(3, 16, 16)

os.makedirs("tmp", exist_ok=True)
dist.init_process_group("gloo"); r = dist.get_rank()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Conv2d(3, 8, 3))
opt = torch.optim.SGD(net.parameters(), 0.01)
t = time.time()
for i, x in enumerate(DataLoader(Clips(), batch_size=10, num_workers=2)):
    l = net(x).square().mean(); opt.zero_grad(); l.backward(); opt.step()
    if i % 4 == 0: print(f"[rank{r}] iter {i:4d} loss {l.item():.4f} ({time.time()-t:.1f}s)", flush=True)
    if i == 16: open(f"tmp/it_r{r}", "w").write("16")
