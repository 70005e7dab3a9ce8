import faulthandler; faulthandler.enable()
import os, time, numpy as np, torch, torch.distributed as dist
class TokenFile:
    def __init__(self, path): self.a = np.memmap(path, dtype=np.uint16, mode="r"); self.pos = 0
    def next_batch(self, n):
        b = self.a[self.pos:self.pos + n].astype(np.int64); self.pos += 131072
        return torch.from_numpy(b)
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4114", rank=rank, world_size=world)
src = TokenFile(f"tok/part{rank}.bin")
print(f"tok/part{rank}.bin: {len(src.a):,} tokens", flush=True)
emb = torch.nn.Embedding(30000, 8); opt = torch.optim.SGD(emb.parameters(), .1)
for step in range(28):
    ids = src.next_batch(512); loss = emb(ids).pow(2).mean(); opt.zero_grad(); loss.backward()
    g = emb.weight.grad.sum(0); dist.all_reduce(g); opt.step()
    if rank == 0: print(f"step {step} loss {loss.item():.4f} gnorm {g.norm().item():.4f}", flush=True)
    open(f"tok/.s{rank}", "w").write(str(step)); time.sleep(.3)
