import datetime, json, os, sys, time
import numpy as np, torch, torch.nn as nn, torch.distributed as dist
from .fetch import fetch

def say(msg):
    print(time.strftime("%Y-%m-%dT%H:%M:%S"), "|", msg, flush=True)

def main():
    c = json.load(open(sys.argv[sys.argv.index("--conf") + 1]))
    r = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=c["timeout_s"]))
    say(f"joined group, world {dist.get_world_size()}")
    url = f"{c['mirrors'][r]}/tokens-0{r}.bin"
    say(f"source {url}")
    tok = torch.from_numpy(np.frombuffer(fetch(url, say), dtype=np.uint8).copy())
    say(f"{tok.numel():,} tokens")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Embedding(c["vocab"], c["dim"]), nn.Linear(c["dim"], c["vocab"]))
    net = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for s in range(c["steps"]):
        b = tok[s * 4096:(s + 1) * 4096 + 1].long()
        loss = nn.functional.cross_entropy(net(b[:-1]), b[1:])
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 10 == 0: say(f"step {s} loss {loss.item():.4f}")
    say("done")
    dist.destroy_process_group()

main()
