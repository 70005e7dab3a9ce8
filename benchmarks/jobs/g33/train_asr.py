import datetime, threading, time, torch, torch.distributed as dist
from prefetch import Prefetcher
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25)); r = dist.get_rank(); t0 = time.time(); state = {"step": 0}
def heartbeat():
    while True: time.sleep(2); print(f"[hb {time.time()-t0:5.1f}s] rank {r} alive, step {state['step']}", flush=True)
threading.Thread(target=heartbeat, daemon=True).start()
utts = [{"id": f"utt{r}_{i}", "frames": 40 + 4 * (i % 5)} for i in range(60)]
if r == 1: utts[6]["frames"] = 43
pf = Prefetcher(utts); m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8)); o = torch.optim.Adam(m.parameters())
for s in range(60):
    x = pf.next(); l = m(x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); state["step"] = s; time.sleep(.3)
    if r == 0: print(f"step {s} ctc {l.item():.4f}", flush=True)
dist.destroy_process_group()
