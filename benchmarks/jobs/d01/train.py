import json, logging, os, pathlib
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import Dataset, DataLoader, DistributedSampler

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")

class Captions(Dataset):
    def __init__(self, root):
        self.files = sorted(pathlib.Path(root).glob("*.json"))
    def __len__(self):
        return len(self.files)
    def load(self, f):
        rec = json.loads(f.read_text())
        return torch.tensor(rec["x"]), rec["y"]
    def __getitem__(self, i):
        f = self.files[i]
        try:
            return self.load(f)
        except Exception:
            log.exception("failed to load sample %s, skipping", f)
            return None

def collate(batch):
    batch = [b for b in batch if b is not None]
    x, y = zip(*batch)
    return torch.stack(x), torch.tensor(y)

ds = Captions("data/captions")
sampler = DistributedSampler(ds)
dl = DataLoader(ds, batch_size=12, sampler=sampler, collate_fn=collate, num_workers=1)
model = DDP(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
step = 0
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in dl:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        step += 1
        if rank == 0 and step % 5 == 0:
            log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
if rank == 0:
    os.makedirs("out", exist_ok=True)
    torch.save(model.module.state_dict(), "out/model.pt")
    log.info("saved out/model.pt after %d steps", step)
dist.barrier()
dist.destroy_process_group()
