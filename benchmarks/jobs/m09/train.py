import os, time
import torch, torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from accelerate import Accelerator
from accelerate.logging import get_logger
import logging
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")

class Clips(Dataset):
    def __init__(self, cache): self.cache = cache
    def __len__(self): return 2000
    def __getitem__(self, i):
        w = torch.utils.data.get_worker_info()
        f = f"{self.cache}/w{w.id}.pid"
        if not os.path.exists(f): open(f, "w").write(str(os.getpid()))
        time.sleep(0.02)
        g = torch.Generator().manual_seed(i)
        return torch.randn(80, generator=g), i % 5

acc = Accelerator(cpu=True)
log = get_logger("clips")
cache = f"cache/proc{acc.process_index}"; os.makedirs(cache, exist_ok=True)
dl = DataLoader(Clips(cache), batch_size=8, num_workers=2, shuffle=True)
model = nn.Sequential(nn.Linear(80, 40), nn.ReLU(), nn.Linear(40, 5))
opt = torch.optim.Adam(model.parameters())
model, opt, dl = acc.prepare(model, opt, dl)
log.info("training on %d batches per process", len(dl), main_process_only=False)
for step, (x, y) in enumerate(dl, 1):
    loss = nn.functional.cross_entropy(model(x), y)
    acc.backward(loss); opt.step(); opt.zero_grad()
    open(f"{cache}/step", "w").write(str(step))
    if step % 5 == 0:
        log.info("step %d loss %.3f", step, loss.item(), main_process_only=False)
acc.end_training()
