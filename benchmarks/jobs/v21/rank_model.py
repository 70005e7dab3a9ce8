import os, socket, struct, sys
import torch, torch.distributed as dist
r, att = int(os.environ["RANK"]), os.environ.get("TORCHELASTIC_RESTART_COUNT")
def log(*a): print(f"r{r}.{att}:", *a, flush=True)
def features():
    b = b""
    with socket.create_connection(("127.0.0.1", 47781), timeout=5) as c:
        while len(b) < 256: b += c.recv(256)
    return torch.tensor(struct.unpack("<64f", b))
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
start = 0
if os.path.exists("last.pt"):
    s = torch.load("last.pt"); net.module.load_state_dict(s["m"]); start = s["it"]
    log("resumed at", start)
for it in range(start, 60):
    if it == 10 or it % 20 == 19:
        bias = features()
    x = torch.randn(32, 64)
    loss = ((net(x).squeeze(-1) - x.sum(1)) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 5 == 0:
        log(f"it {it} mse {loss.item():.2f}")
        if r == 0: torch.save({"m": net.module.state_dict(), "it": it}, "tmp.pt"); os.replace("tmp.pt", "last.pt")
        dist.barrier()
if r == 0:
    torch.save(net.module.state_dict(), "final.pt"); log("final.pt written,", os.path.getsize("final.pt"), "bytes")
dist.barrier()
dist.destroy_process_group()
log("all 60 iterations done")
