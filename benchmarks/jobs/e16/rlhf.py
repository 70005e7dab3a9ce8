import os, sys, datetime, time
import torch, torch.distributed as dist
import torch.multiprocessing as mp

def read_prompts(path):
    with open(path) as f:
        return [l.strip() for l in f]

def run(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    for rnd in range(3):
        src = f"prompts/round{rnd}/actor{rank}.txt"
        print(f"actor {rank}: round {rnd} reading {src}", flush=True)
        p = read_prompts(src)
        rewards = torch.tensor([float(len(s)) for s in p]).mean()
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=12), wait_all_ranks=True)
        dist.all_reduce(rewards)
        print(f"actor {rank}: round {rnd} mean reward {rewards.item()/world:.3f}", flush=True)

if __name__ == "__main__":
    mp.spawn(run, (3, int(sys.argv[1])), nprocs=3, join=True)
