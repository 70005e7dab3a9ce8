import os, time, logging
import numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("pretrain")

def load_shard(rank):
    path = f"shards/train_{rank:02d}.npy"
    arr = np.load(path)
    return torch.from_numpy(arr)

def main():
    dist.init_process_group("gloo")
    rank, ws = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        log.info("world size %d, model %s", ws, os.path.basename(os.environ["TINY"]))
    model = DDP(AutoModelForCausalLM.from_pretrained(os.environ["TINY"]))
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    data = load_shard(rank)
    dist.barrier()
    for step in range(20):
        b = data[step * 4 % 96: step * 4 % 96 + 4]
        loss = model(input_ids=b, labels=b).loss
        loss.backward(); opt.step(); opt.zero_grad()
        if rank == 0: log.info("step %d loss %.4f", step, loss.item())
    dist.destroy_process_group()

main()
