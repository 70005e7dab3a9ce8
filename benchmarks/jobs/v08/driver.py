import os, sys, io, datetime, traceback
import multiprocessing as mp

def run(rank, world):
    import numpy as np, torch, torch.distributed as dist
    def p(s): print(f"host{rank}> {s}")
    store = dist.TCPStore("127.0.0.1", 47708, world, rank == 0, timeout=datetime.timedelta(seconds=30))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=datetime.timedelta(seconds=20))
    torch.manual_seed(0)
    w = torch.zeros(4000, requires_grad=True)
    m = torch.zeros(4000)
    g = torch.Generator().manual_seed(rank)
    for step in range(1, 101):
        x = torch.randn(64, 4000, generator=g); y = x[:, :10].sum(1)
        loss = ((x @ w - y) ** 2).mean()
        grad, = torch.autograd.grad(loss, w)
        dist.all_reduce(grad); grad /= world
        m.mul_(0.9).add_(grad)
        with torch.no_grad(): w -= 1e-4 * m
        if step % 5 == 0: p(f"step {step:3d}  mse {loss.item():8.4f}")
        if step % 30 == 0:
            fn = f"ckpt/host{rank}/optim-step{step:04d}.npz"
            p(f"saving {fn}")
            buf = io.BytesIO(); np.savez(buf, w=w.detach().numpy(), m=m.numpy())
            with open(fn, "wb") as f: f.write(buf.getvalue())
            dist.barrier()
    p("finished")

if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    ps = [ctx.Process(target=run, args=(r, 3), name=f"host{r}") for r in range(3)]
    [q.start() for q in ps]; [q.join() for q in ps]
    bad = [q.name for q in ps if q.exitcode]
    print("workers with errors:", len(bad), "of", len(ps))
    sys.exit(len(bad) > 0)
