# Обучение эмбеддингов: каждый процесс держит свои файлы открытыми
import glob, logging, os, random, torch, torch.distributed as dist, numpy as np
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
logging.basicConfig(filename=f"logs/embed.{rank}.log", level=logging.DEBUG, format="%(levelname)-8s %(asctime)s [%(module)s] %(message)s")
lg = logging.getLogger()
class Reader:
    def __init__(self): self.h = {}
    def block(self, fn):
        if fn not in self.h:
            self.h[fn] = open(fn, "rb"); lg.debug("opened %s (%d handles)", fn, len(self.h))
        f = self.h[fn]; f.seek(0); return torch.from_numpy(np.frombuffer(f.read(), "u2").astype("i8"))
def main():
    dist.init_process_group("gloo", rank=rank, world_size=2)
    lg.info("rank %d of 2 ready", rank)
    files = sorted(glob.glob(f"corpus/{rank}/*.bin")); rd = Reader()
    lg.info("%d files", len(files))
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(500, 32), torch.nn.Linear(32, 500)))
    o = torch.optim.SGD(m.parameters(), 0.1)
    for s in range(300):
        t = rd.block(files[s % len(files)])[:256]
        loss = torch.nn.functional.cross_entropy(m(t[:-1]), t[1:]); o.zero_grad(); loss.backward(); o.step()
        lg.info("step %d loss %.4f", s, loss.item())
try: main()
except Exception:
    lg.exception("stopped by an exception"); logging.shutdown(); os._exit(1)
