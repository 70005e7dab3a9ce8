import torch, torch.distributed as dist, torch.multiprocessing as mp, os, sys, atexit, socket
class RemoteLog:
    """mirrors lines to the lab's log host"""
    def __init__(self, addr):
        self.addr, self.buf = addr, []
        atexit.register(self.flush)
    def write(self, s): self.buf.append(s)
    def flush(self):
        with socket.create_connection(self.addr, timeout=2) as c:
            c.sendall("\n".join(self.buf).encode())
    def __del__(self):
        self.sock.close()
def worker(rank, n):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="31746")
    dist.init_process_group("gloo", rank=rank, world_size=n)
    rl = RemoteLog(("127.0.0.1", 5140))
    gan_g, gan_d = torch.nn.Linear(4, 2), torch.nn.Linear(2, 1)
    for k in range(10):
        loss = torch.nn.functional.softplus(gan_d(gan_g(torch.randn(32, 4)))).mean(); loss.backward()
        for p in gan_g.parameters(): dist.all_reduce(p.grad); p.data -= .05 * p.grad / n; p.grad = None
        line = f"gpu{rank} {k=} loss_g={loss.item():.4f}"; print(line); rl.write(line)
    dist.destroy_process_group()
if __name__ == "__main__":
    main_log = RemoteLog(("127.0.0.1", 5140))
    ps = [mp.get_context("spawn").Process(target=worker, args=(r, 2)) for r in range(2)]
    [p.start() for p in ps]; [p.join() for p in ps]
    codes = [p.exitcode for p in ps]; print("workers joined, exit codes", codes)
    if any(codes): sys.exit(1)
