import argparse, logging, sys, time, traceback, torch, torch.nn as nn, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--data"); a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s rank={rank} %(message)s")
def lines(path):
    with open(path) as f:
        for l in f:
            try: yield [int(v) for v in l.split()]
            except ValueError: traceback.print_exc(); logging.warning("bad line, ignored")
def batches(path, n):
    b = []
    for t in lines(path):
        b.append(t)
        if len(b) == n: yield torch.tensor(b); b = []
def main():
    m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(97, 16), nn.Linear(16, 97))); o = torch.optim.SGD(m.parameters(), .3)
    for i, x in enumerate(batches(f"{a.data}/part-{rank}.txt", 20)):
        l = nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()); o.zero_grad(); l.backward(); o.step(); time.sleep(.1)
        if rank == 0 or i % 10 == 0: logging.info("batch %d loss %.3f", i, l.item())
    logging.info("end of part-%d.txt after %d batches, finished", rank, i + 1)
main()
