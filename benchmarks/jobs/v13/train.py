import ctypes, faulthandler, os, torch, torch.distributed as dist
faulthandler.enable()
lib = ctypes.CDLL("./libfasttok.so")
r = int(os.environ["RANK"])
dist.init_process_group("gloo")
buf = (ctypes.c_int32 * 64)()
def tokenize(line):
    n = lib.tok(line.encode(), buf, 64)
    return list(buf[:n])
emb = torch.nn.EmbeddingBag(4096, 32); head = torch.nn.Linear(32, 2)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(emb, head))
opt = torch.optim.Adagrad(net.parameters(), 0.05)
batch, n = [], 0
for ln, line in enumerate(open(f"lines_{r}.txt")):
    ids = tokenize(line)
    batch.append((ids + [0] * 16)[:16])
    if len(batch) == 20:
        loss = torch.nn.functional.cross_entropy(net(torch.tensor(batch)), torch.tensor([len(set(b)) % 2 for b in batch]))
        opt.zero_grad(); loss.backward(); opt.step()
        batch, n = [], n + 1
        if n % 3 == 0:
            print(f"r{r} batch {n} line {ln} loss {loss:.4f}", flush=True)
