import argparse, torch, torch.distributed as dist, torch.multiprocessing as mp
def p0(r, *x):
    if r == 0: print("\t".join(map(str, x)))
def main(r, w, a):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:31755", rank=r, world_size=w); torch.manual_seed(r)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(12, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))); o = torch.optim.SGD(net.parameters(), a.lr, momentum=.9)
    best, since = 1e9, 0; p0(r, "epoch", "train_err", "valid_err", "flag")
    for e in range(100):
        for _ in range(5):
            x = torch.sin(torch.rand(32, 1) * 6 + torch.arange(13) * .5); l = (net(x[:, :12]) - x[:, 12:]).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        v = l.detach().clone(); dist.all_reduce(v); v = v.item() / w
        flag = "*" if v < best else "ERR_NOT_IMPROVED"; since = 0 if v < best else since + 1; best = min(best, v)
        p0(r, e, f"{l.item():.5f}", f"{v:.5f}", flag)
        if since >= a.patience:
            p0(r, f"ABORT: validation error did not improve for {a.patience} epochs; restoring best ({best:.5f})"); break
    dist.destroy_process_group()
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--patience", type=int); p.add_argument("--lr", type=float); mp.spawn(main, (3, p.parse_args()), nprocs=3)
