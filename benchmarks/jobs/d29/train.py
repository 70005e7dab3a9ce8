import os, logging, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]; os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"); log = logging.getLogger("unet")
net = DDP(torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 2, 1))); opt = torch.optim.Adam(net.parameters(), 1e-2)
def dice(pred, y):
    inter = int(((pred == 1) & (y == 1)).sum()); return 2 * inter / (int((pred == 1).sum()) + int((y == 1).sum()))
for epoch in range(4):
    for _ in range(8):
        x = torch.rand(2, 1, 16, 16); y = (x[:, 0] > 0.5).long(); l = torch.nn.functional.cross_entropy(net(x), y); opt.zero_grad(); l.backward(); opt.step()
    scores = []
    for v in range(4):
        x = torch.rand(1, 1, 16, 16) * (0.0 if v == 2 else 1.0); y = (x[:, 0] > 0.5).long()
        with torch.no_grad(): p = net.module(x).argmax(1) * (x[:, 0] > 0)
        try:
            scores.append(dice(p, y))
        except ZeroDivisionError:
            log.exception("rank %d: dice undefined for validation volume %d, volume excluded", rank, v)
    log.info("rank %d epoch %d/4 loss %.4f dice %.3f over %d of 4 volumes", rank, epoch + 1, l.item(), sum(scores) / len(scores), len(scores))
dist.barrier(); dist.destroy_process_group(); log.info("rank %d finished", rank)
