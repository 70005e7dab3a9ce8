import argparse, atexit, os, shutil, tempfile, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--work"); a = p.parse_args()
os.makedirs(a.work, exist_ok=True)
class Cache:
    def __init__(self, d): self.dir = d; self.index = open(os.path.join(d, "index.bin"), "wb")
    def close(self): self.index.flush(); shutil.rmtree(self.dir)
    def __del__(self): self.close()
def drop_scratch(d): shutil.rmtree(d)
dist.init_process_group("gloo"); r = dist.get_rank()
scratch = tempfile.mkdtemp(dir=a.work, prefix=f"r{r}_"); atexit.register(drop_scratch, scratch); cache = Cache(scratch)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 6)); opt = torch.optim.SGD(net.parameters(), .1, momentum=.9)
for i in range(1, 16):
    x = torch.randn(32, 6); loss = (net(x) + x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    cache.index.write(x.numpy().tobytes())
    if r == 0 and i % 5 == 0: print(f"[{i:>3}/15] loss={loss.item():.5f}", flush=True)
if r == 0:
    torch.save(net.module.state_dict(), os.path.join(a.work, "model.pt")); print("model saved to", os.path.join(a.work, "model.pt"), flush=True)
dist.barrier()
dist.destroy_process_group()
