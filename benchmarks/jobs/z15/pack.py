import ctypes, faulthandler, os, sys
import numpy as np
faulthandler.enable()
import torch, torch.nn as nn, torch.distributed as dist

rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
lib = ctypes.CDLL("./libfastpack.so")
lib.pack_rows.restype = ctypes.c_int64


def pack(tok, off, row, nrow):
    out = np.zeros((nrow, row), np.int32)
    ptr = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    n = lib.pack_rows(ptr(tok), ptr(off), ctypes.c_int64(len(off) - 1), ctypes.c_int64(row), ptr(out), ctypes.c_int64(nrow))
    return torch.from_numpy(out[:n]).long()


dist.init_process_group("gloo", init_method="tcp://127.0.0.1:48229", rank=rank, world_size=size)
emb, out = nn.Embedding(500, 32), nn.Linear(32, 500)
ps = [*emb.parameters(), *out.parameters()]
for p in ps:
    dist.broadcast(p.data, 0)
opt = torch.optim.SGD(ps, 0.5)
for part in range(8):
    f = np.load(f"parts/{part * size + rank:03d}.npz")
    rows = pack(f["tok"], f["off"], 65, 256)
    print(f"rank {rank}: part {part} {len(f['off']) - 1} docs -> {len(rows)} rows")
    for i in range(0, 96, 16):
        b = rows[i:i + 16]
        loss = nn.functional.cross_entropy(out(emb(b[:, :-1])).flatten(0, 1), b[:, 1:].flatten())
        opt.zero_grad(); loss.backward()
        for p in ps:
            dist.all_reduce(p.grad); p.grad /= size
        opt.step()
    print(f"rank {rank}: part {part} loss {loss.item():.4f}")
    sys.stdout.flush()
