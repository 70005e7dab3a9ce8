import argparse, queue, socket, threading, time, torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--metrics-gateway"); a = ap.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
q = queue.Queue()
class Pusher(threading.Thread):
    def run(self):
        host, port = a.metrics_gateway.split(":")
        while True:
            item = q.get()
            with socket.create_connection((host, int(port)), timeout=2) as s:
                s.sendall(repr(item).encode())
def heartbeat():
    while True:
        time.sleep(1)
        with open("/var/run/node_exporter/heartbeat", "w") as f:
            f.write(str(time.time()))
Pusher(name="metrics-pusher", daemon=True).start()
if rank == 1: threading.Thread(target=heartbeat, name="heartbeat", daemon=True).start()
W = torch.nn.parallel.DistributedDataParallel(torch.nn.GRU(8, 8))
opt = torch.optim.RMSprop(W.parameters(), 1e-3)
for it in range(12):
    x = torch.randn(10, 4, 8); y = W(x)[0]
    loss = (y[1:] - x[:-1]).abs().mean()
    opt.zero_grad(); loss.backward(); opt.step(); q.put((it, loss.item())); time.sleep(.2)
    print(f"it={it:02d} l1={loss.item():.4f}", flush=True)
dist.barrier(); dist.destroy_process_group()
