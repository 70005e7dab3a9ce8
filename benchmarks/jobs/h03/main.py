import os, time, torch, torch.distributed as dist, torch.multiprocessing as mp
from tokens import encode

LINES = ["the cat sat", "a dog ran off", "one two three", "the the the"]

def worker(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    vocab = {}
    total = torch.zeros(1)
    for it in range(12):
        words = LINES[it % 4].split()
        if rank == world - 1:
            words = words + [f"url{it}"]
        ids = encode(words, vocab, 16)
        t = torch.tensor([float(len(ids))])
        dist.all_reduce(t)
        total += t
        if rank == 0:
            print("iter", it, "tokens so far", int(total), flush=True)
        time.sleep(0.3)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(4, 29813), nprocs=4)
