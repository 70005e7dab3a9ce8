# 対照学習。シャードは開いたまま保持する
import os, pathlib, numpy as np, torch
import torch.distributed as dist
import torch.multiprocessing as mp


class ShardSet(torch.utils.data.Dataset):
    def __init__(self, root):
        self.paths = sorted(pathlib.Path(root).glob("*.i4"))
        self.files = {}

    def read(self, k):
        if k not in self.files:
            self.files[k] = open(self.paths[k], "rb")
        f = self.files[k]; f.seek(0)
        return np.frombuffer(f.read(), "i4").astype("i8")

    def __len__(self): return len(self.paths)
    def __getitem__(self, k): return torch.from_numpy(self.read(k))


def train(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "47417"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    ds = ShardSet(f"idx/r{rank}")
    print(f"rank{rank} シャード数 {len(ds)}", flush=True)
    torch.manual_seed(0)
    emb = torch.nn.parallel.DistributedDataParallel(torch.nn.EmbeddingBag(1000, 32))
    opt = torch.optim.SGD(emb.parameters(), 0.5)
    for step in range(1500):
        ids = ds[step % len(ds)].view(20, 30)
        a, b = emb(ids[:, :15]), emb(ids[:, 15:])
        loss = torch.nn.functional.cross_entropy(a @ b.T, torch.arange(20))
        opt.zero_grad(); loss.backward(); opt.step()
        if step % 50 == 0: print(f"rank{rank} step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    mp.spawn(train, args=(4,), nprocs=4)
