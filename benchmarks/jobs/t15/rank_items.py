import os
import socket
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


class Features:
    def __init__(self):
        self.s = socket.create_connection(("127.0.0.1", 47530))
        self.f = self.s.makefile("rw")

    def get(self, user):
        self.f.write(f"{user}\n")
        self.f.flush()
        line = self.f.readline()
        if not line:
            raise ConnectionResetError("feature store closed the connection")
        return [float(v) for v in line.split()]


def info(r, m):
    print(f"INFO  {time.strftime('%Y/%m/%d %H:%M:%S')} ranker.{r}  {m}", flush=True)


@record
def main():
    dist.init_process_group("gloo")
    r = dist.get_rank()
    fs = Features()
    net = torch.nn.Linear(8, 1)
    opt = torch.optim.SGD(net.parameters(), 0.05)
    start = 0
    if os.path.exists("state/ranker.pt"):
        st = torch.load("state/ranker.pt")
        net.load_state_dict(st["net"])
        start = st["step"]
    info(r, f"attempt {os.environ['ATTEMPT']}, starting at step {start}, users {r * 1000}..{r * 1000 + 999}")
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    for step in range(start, 60):
        x = torch.tensor([fs.get(r * 1000 + (step * 8 + i) % 1000) for i in range(8)])
        y = x.sum(1, keepdim=True).sign()
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        if step % 2 == 0:
            info(r, f"step {step} loss {loss.item():.4f} users/s {8 / 0.05:.0f}")
        if step % 10 == 9:
            if r == 0:
                torch.save({"net": net.state_dict(), "step": step + 1}, "state/ranker.pt")
                info(r, f"state/ranker.pt at step {step + 1}")
            dist.barrier()
    info(r, f"finished 60 steps, loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
