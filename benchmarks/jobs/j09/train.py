import os, time, torch, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader
class Clips(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        wi = torch.utils.data.get_worker_info()
        if i % 50 == 0: open(f"run/worker_{rank}_{wi.id}.pid", "w").write(str(os.getpid()))
        time.sleep(.02)
        return torch.randn(3, 16, 16), i % 5
dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs("run", exist_ok=True)
dl = DataLoader(Clips(), batch_size=8, num_workers=2, prefetch_factor=2)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 5)))
opt = torch.optim.SGD(net.parameters(), .01)
for it, (x, y) in enumerate(dl):
    loss = torch.nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
    if it % 5 == 0 and rank == 0: print(f"it {it}/{len(dl)} loss {loss.item():.3f}", flush=True)
    open(f"run/{rank}.it", "w").write(str(it))
dist.destroy_process_group()
