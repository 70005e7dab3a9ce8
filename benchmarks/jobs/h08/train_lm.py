import os, sys, time, math, logging, datetime, collections, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
R = dist.get_rank()
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=f"%(asctime)s | worker-{R} | %(levelname)-7s | %(message)s")
L = logging.getLogger("lm")

def ngram_report(n_docs):
    """perplexity of a bigram baseline on the held-out documents"""
    c = collections.Counter(); t0 = time.time()
    for d in range(n_docs):
        for k in range(2000):
            c[(d * k) % 997, (d + k) % 991] += 1
        if d % 5000 == 0:
            L.info("baseline: %d/%d documents", d, n_docs)
    return math.log(len(c))

m = DDP(torch.nn.Linear(32, 32)); opt = torch.optim.Adam(m.parameters())
for step in range(20):
    if step == 6 and R == 2:
        L.info("eval: bigram baseline over held-out set")
        L.info("baseline entropy %.3f", ngram_report(2_000_000))
    loss = m(torch.randn(8, 32)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    L.info("step=%d loss=%.4f", step, loss.item())
    time.sleep(0.1)
