import datetime, logging, os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=90)); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s,{rank} %(levelname)s %(message)s")
store = dist.distributed_c10d._get_default_store()
def build_index():
    n = 0
    for part in range(5):
        t = torch.randperm(400000); n += len(t.unique()); time.sleep(1.4)
        logging.info("indexed part %d/5 (%d documents)", part + 1, n)
    store.set("index_ready", str(n))
def wait_index():
    for k in range(10):
        try:
            store.wait(["index_ready"], datetime.timedelta(seconds=2)); return
        except Exception as e:
            logging.error("rank 0 has not published the index yet: %s; will wait again (%d/10)", e, k + 1)
    raise TimeoutError("index_ready")
build_index() if rank == 0 else wait_index()
logging.info("index has %s documents", store.get("index_ready").decode())
m = DDP(torch.nn.Bilinear(4, 4, 2)); o = torch.optim.Adam(m.parameters(), 1e-2)
for s in range(30):
    x = torch.randn(6, 4); l = (m(x, x) - x[:, :2]).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if s % 10 == 9: logging.info("step %d loss %.3f", s + 1, l.item())
dist.destroy_process_group(); logging.info("bye")
