import os, sys, threading, time, json, traceback, http.server, atexit, urllib.request, torch, torch.distributed as dist
R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
def metrics(port):
    for p in range(port, port + 5):
        try:
            s = http.server.ThreadingHTTPServer(("127.0.0.1", p), http.server.BaseHTTPRequestHandler); break
        except OSError:
            traceback.print_exc(); print(f"[{R}] metrics: port {p} is taken, trying {p+1}", flush=True)
    threading.Thread(target=s.serve_forever, daemon=True).start()
def heartbeat():
    while True:
        d = json.loads(urllib.request.urlopen("http://127.0.0.1:4591/beat", timeout=1).read()); time.sleep(d["every"])
class Cache:
    def __init__(self): self.f = open("/dev/full", "w"); self.f.write("header\n")
    def __del__(self): self.f.flush()
metrics(int(sys.argv[2])) if R == 0 else None
threading.Thread(target=heartbeat, daemon=True, name="heartbeat").start()
dist.init_process_group("gloo", rank=R, world_size=W)
c = Cache()
emb = torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding(100, 8)); opt = torch.optim.SGD(emb.parameters(), 1.)
for s in range(25):
    q, d = torch.randint(0, 100, (2, 64)); loss = -torch.nn.functional.logsigmoid((emb(q) * emb(d)).sum(1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if R == 0: print(f"it={s} loss={loss.item():.4f} ndcg={1-loss.item()/2:.3f}", flush=True)
    if s == 12: del c
dist.barrier(); dist.destroy_process_group()
