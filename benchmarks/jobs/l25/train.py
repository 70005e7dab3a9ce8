import os, time, logging, torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader
logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(message)s", datefmt="%H:%M:%S")
class Images(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        time.sleep(0.02)
        return torch.rand(3 * 16 * 16)
dist.init_process_group("gloo"); rank = dist.get_rank()
def hello(wid):
    os.makedirs("workers", exist_ok=True)
    open(f"workers/{rank}_{wid}", "w").write(str(os.getpid()))
dl = DataLoader(Images(), batch_size=8, num_workers=1, worker_init_fn=hello)
net = nn.parallel.DistributedDataParallel(nn.Linear(768, 10)); opt = torch.optim.SGD(net.parameters(), 0.01)
state = {"step": 0}
def epoch():
    for x in dl:
        loss = net(x).logsumexp(-1).mean(); opt.zero_grad(); loss.backward(); opt.step()
        state["step"] += 1
        if state["step"] % 5 == 0: logging.info("[r%d] step %d loss %.4f", rank, state["step"], loss.item())
try:
    epoch()
except RuntimeError as e:
    logging.warning("[r%d] epoch ended at step %d: %s", rank, state["step"], e)
    logging.info("[r%d] keeping the last checkpoint, bye", rank)
    os._exit(1)
logging.info("[r%d] complete", rank)
