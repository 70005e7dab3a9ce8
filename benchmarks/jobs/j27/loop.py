import os, logging, torch, torch.distributed as dist
from datetime import timedelta
R = int(os.environ["OMPI_COMM_WORLD_RANK"]); W = int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s:host{R}:%(funcName)s: %(message)s")
VAL = {0: 32, 1: 32, 2: 0, 3: 32}
def reduce_mean(t): dist.all_reduce(t); return t / W
def train_epoch(e, m, opt):
    for _ in range(6):
        l = m(torch.randn(8, 16)).pow(2).mean(); opt.zero_grad(); l.backward()
        for p in m.parameters(): p.grad = reduce_mean(p.grad)
        opt.step()
    logging.info("epoch %d loss %.4f", e, l.item())
def validate(e, m):
    if VAL[R] == 0:
        logging.info("no validation samples here, skipped")
        return
    s = reduce_mean(torch.stack([m(torch.randn(16)).sum().detach() for _ in range(4)]))
    logging.info("epoch %d val %.4f", e, s[0])
def main():
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4127", rank=R, world_size=W, timeout=timedelta(seconds=20))
    torch.manual_seed(0); m = torch.nn.Linear(16, 16); opt = torch.optim.SGD(m.parameters(), .1)
    for e in range(5): train_epoch(e, m, opt); validate(e, m)
main()
