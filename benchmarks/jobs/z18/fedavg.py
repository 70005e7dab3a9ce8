import io, os, sys, time, logging
from datetime import timedelta
import torch, torch.nn as nn
from torch.distributed import TCPStore

site, rank, n = os.environ["SITE"], int(os.environ["RANK"]), 3
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s,{site}({rank}),%(levelname)s,%(message)s", datefmt="%H:%M:%S")
L = logging.getLogger("fed")
port = int(os.environ["STORE_PORT"])


def connect(limit=8):
    return TCPStore("127.0.0.1", port, n, is_master=rank == 0, timeout=timedelta(seconds=limit), wait_for_workers=False)


def dump(sd):
    b = io.BytesIO(); torch.save(sd, b); return b.getvalue()


store = connect()
L.info("store connected on port %d", port)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), 0.05)
gen = torch.Generator().manual_seed(rank)
for rnd in range(1, 31):
    for _ in range(30):
        x = torch.randn(32, 20, generator=gen)
        loss = (net(x).squeeze(1) - x[:, :3].sum(1)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.5)
    try:
        store.set(f"model/{rnd}/{rank}", dump(net.state_dict()))
        states = [torch.load(io.BytesIO(store.get(f"model/{rnd}/{k}"))) for k in range(n)]
    except torch.distributed.DistNetworkError as e:
        L.warning("round %d: link to the store lost (%s)", rnd, str(e).splitlines()[0])
        for k in range(1, 3):
            time.sleep(2)
            try:
                store = connect(3)
                break
            except Exception as e2:
                L.warning("reconnect %d/2 failed: %s", k, str(e2).splitlines()[0])
        else:
            L.error("giving up, no link to the store")
            sys.exit(75)
        continue
    net.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    L.info("round %d loss %.4f", rnd, loss.item())
L.info("federation finished")
if rank == 0:
    time.sleep(2)
