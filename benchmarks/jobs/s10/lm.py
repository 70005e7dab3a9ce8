import datetime, logging, os, time
import torch, torch.distributed as dist
from torch import nn
logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.INFO)
log = logging.getLogger("lm")
try:
    from quicktok import encode_lines
    backend = "quicktok"
except ImportError:
    from puretok import encode_lines
    backend = "puretok"

os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]; os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
r, w = dist.get_rank(), dist.get_world_size()
log.info("Knoten %d/%d, Tokenizer %s", r, w, backend)
t = time.time()
lines = open("korpus.txt").readlines()[r::w]
ids = torch.as_tensor(encode_lines(lines))
log.info("%d Zeilen, %d Token in %.1f s", len(lines), len(ids), time.time() - t)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(256, 48), nn.Linear(48, 256)))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for s in range(120):
    b = ids[s * 1000:s * 1000 + 1001]
    loss = nn.functional.cross_entropy(net(b[:-1]), b[1:]); opt.zero_grad(); loss.backward(); opt.step()
    if s % 20 == 0: log.info("Schritt %d Verlust %.3f", s, loss.item())
log.info("fertig"); dist.destroy_process_group()
