import argparse, ctypes, glob, os
import numpy as np, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, files):
        self.files, self.lib = files, None

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if self.lib is None:
            self.lib = ctypes.CDLL(os.path.abspath("native/libclip.so"))
        p = self.files[i]
        out = np.zeros(256, "f4")
        self.lib.clip_decode(open(p, "rb").read(), out.ctypes.data_as(ctypes.c_void_p), 256)
        return torch.from_numpy(out), int(p[-5])


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    say = lambda *a: print(f"<kws:{rank}>", *a, flush=True)
    files = sorted(glob.glob("clips/*.clp"))
    n = len(files) // world
    mine = files[rank * n:(rank + 1) * n]
    dl = DataLoader(Clips(mine), batch_size=8, num_workers=1, shuffle=False)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 4))
    ddp = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.Adam(ddp.parameters(), 1e-3)
    say("files", len(mine), mine[0], "..", mine[-1])
    for ep in range(3):
        for it, (x, y) in enumerate(dl):
            l = nn.functional.cross_entropy(ddp(x), y)
            opt.zero_grad(); l.backward(); opt.step()
            say(f"ep={ep} it={it} loss={l.item():.4f} peak={x.abs().max():.2f}")
            if x.abs().max() > 30:
                say("warn: clip peak over 30, gain control is off")
        say(f"epoch {ep} done")
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--world", type=int); ap.add_argument("--port", type=int)
    a = ap.parse_args()
    mp.spawn(main, (a.world, a.port), nprocs=a.world)
    print("training finished")
