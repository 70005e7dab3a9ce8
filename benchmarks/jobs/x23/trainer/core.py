import logging, sys
import torch, torch.distributed as dist

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)


def banner(host, c):
    logging.getLogger(host).info("trainer starts, rank %(rank)d of %(world)d, store tcp://%(master)s:%(port)d", c)


def train(host):
    log = logging.getLogger(host)
    w = torch.zeros(50, requires_grad=True)
    for s in range(50):
        (w - 1).pow(2).sum().backward()
        dist.all_reduce(w.grad)
        w.data -= .05 * w.grad / dist.get_world_size()
        w.grad = None
        log.info("step %d |w-1| %.4f", s, (w - 1).norm().item())
