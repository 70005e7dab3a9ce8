import argparse, io, os, socket
from datetime import timedelta
import torch
import torch.distributed as dist


def upload(addr, blob):
    host, port = addr.split(":")
    with socket.create_connection((host, int(port))) as s:
        s.sendall(str(len(blob)).encode() + b"\n")
        s.sendall(blob)
        return s.recv(16)


def save(model, step, store):
    buf = io.BytesIO()
    torch.save(model.state_dict(), buf)
    print(f"uploading checkpoint-{step} ({len(buf.getvalue())} bytes) to {store}", flush=True)
    upload(store, buf.getvalue())
    print(f"checkpoint-{step} stored", flush=True)


def main():
    p = argparse.ArgumentParser(); p.add_argument("--store"); a = p.parse_args()
    dist.init_process_group("gloo", timeout=timedelta(seconds=28))
    rank = dist.get_rank()
    print(f"rank {rank} is pid {os.getpid()}", flush=True)
    model = torch.nn.Linear(128, 128)
    for prm in model.parameters():
        dist.broadcast(prm.data, 0)
    for step in range(1, 301):
        loss = model(torch.randn(8, 128)).square().mean()
        loss.backward()
        for prm in model.parameters():
            dist.all_reduce(prm.grad)
            prm.data -= 1e-3 * prm.grad / 3
            prm.grad = None
        if rank == 0 and step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}", flush=True)
        if step % 50 == 0:
            if rank == 0:
                save(model, step, a.store)
            dist.barrier()
    print("finished")


main()
