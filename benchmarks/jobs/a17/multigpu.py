import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

def ddp_setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "21730"
    dist.init_process_group(backend="gloo", rank=rank, world_size=world_size)
    print(f"[GPU{rank}] process group ready ({world_size} processes)", flush=True)

def main(rank, world_size):
    ddp_setup(rank, world_size)
    model = torch.nn.Linear(20, 1).to(f"cuda:{rank}")
    model = DDP(model, device_ids=[rank])
    for epoch in range(2):
        print(f"[GPU{rank}] Epoch {epoch}")
    dist.destroy_process_group()

if __name__ == "__main__":
    world_size = int(os.environ.get("NGPUS", torch.cuda.device_count()))
    print(f"torch {torch.__version__}, starting {world_size} workers")
    mp.spawn(main, args=(world_size,), nprocs=world_size)
