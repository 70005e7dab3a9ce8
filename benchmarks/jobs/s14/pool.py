import argparse, multiprocessing as mp, os, sys, time
import torch, torch.distributed as dist


def note(rank, text):
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} pool.w{rank} :: {text}\n")


def work(rank, n, out):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47415", rank=rank, world_size=n)
    torch.manual_seed(3)
    w = torch.zeros(50, requires_grad=True)
    gen = torch.Generator().manual_seed(rank)
    truth = torch.linspace(-1, 1, 50)
    note(rank, f"metrics go to {out}/w{rank}/metrics.csv")
    for epoch in range(1, 13):
        for _ in range(20):
            x = torch.randn(64, 50, generator=gen)
            loss = (x @ (w - truth)).pow(2).mean()
            g, = torch.autograd.grad(loss, w)
            dist.all_reduce(g)
            with torch.no_grad(): w -= 0.02 * g / n
        if epoch % 4 == 0:
            with open(f"{out}/w{rank}/metrics.csv", "a") as f:
                f.write(f"{epoch},{loss.item():.6f}\n")
        note(rank, f"epoch {epoch} loss {loss.item():.6f}")
    dist.barrier()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--workers", type=int); ap.add_argument("--out"); a = ap.parse_args()
    ctx = mp.get_context("spawn")
    ps = [ctx.Process(target=work, args=(r, a.workers, a.out), name=f"w{r}") for r in range(a.workers)]
    for p in ps: p.start()
    for p in ps: p.join()
    codes = {p.name: p.exitcode for p in ps}
    print("exit codes", codes)
    sys.exit(max(codes.values()))
