import logging, os, socket, time
from datetime import timedelta
import torch, torch.nn as nn, torch.distributed as dist

R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s.%(msecs)03d %(levelname)s [{R}] %(message)s", datefmt="%H:%M:%S")
PORT = 48243


def wait_for_head(tries=40):
    for k in range(1, tries + 1):
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
            logging.info("head answers after %d attempt(s)", k)
            return
        except OSError as e:
            logging.error("head not reachable (attempt %d/%d): %s", k, tries, e)
            time.sleep(min(0.5 * k, 3))
    raise TimeoutError("head never came up")


if R == 0:
    logging.info("reading the graph before the store is opened")
    g = torch.Generator().manual_seed(0)
    adj = torch.zeros(3000, 3000)
    for _ in range(6):
        e = torch.randint(0, 3000, (2, 60000), generator=g)
        adj[e[0], e[1]] = 1
        time.sleep(1)
    torch.save(adj.to_sparse(), "graph.pt")
    logging.info("graph: %d edges", int(adj.sum()))
else:
    wait_for_head()
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=R, world_size=W, timeout=timedelta(seconds=40))
A = torch.load("graph.pt")
torch.manual_seed(5)
h, lin = torch.randn(3000, 16), nn.Linear(16, 16)
opt = torch.optim.Adam(lin.parameters(), 1e-2)
lo, hi = 3000 * R // W, 3000 * (R + 1) // W
for ep in range(1, 21):
    z = lin(torch.sparse.mm(A, h) / 100)[lo:hi]
    loss = (z - h[lo:hi]).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in lin.parameters():
        dist.all_reduce(p.grad); p.grad /= W
    opt.step()
    if ep % 5 == 0:
        logging.info("epoch %d loss %.4f", ep, loss.item())
dist.barrier()
logging.info("done")
dist.destroy_process_group()
