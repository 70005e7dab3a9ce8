import logging, os, torch, torch.nn as nn, torch.distributed as dist
LOG = logging.getLogger("cnn")

def blocks(n=10):
    return nn.Sequential(nn.Flatten(), nn.Linear(100, 50), nn.BatchNorm1d(50), nn.ReLU(), nn.Linear(50, n))

def main():
    dist.init_process_group("gloo")
    r, w = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.DEBUG, format=f"%(relativeCreated)8d ms r{r} %(name)s %(levelname)-7s %(message)s")
    X, Y = torch.randn(385, 10, 10), torch.randint(0, 10, (385,))
    X, Y = X[r::w], Y[r::w]
    LOG.info("%d samples", len(X))
    net = nn.parallel.DistributedDataParallel(blocks()); opt = torch.optim.RMSprop(net.parameters())
    for ep in range(4):
        for j, (x, y) in enumerate(zip(X.split(32), Y.split(32))):
            loss = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
            LOG.debug("ep %d it %d loss %.3f", ep, j, loss.item())

if __name__ == "__main__":
    main()
