import os, time
import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup


class Prefixed:
    def __init__(self, rank): self.rank = rank
    def __call__(self, *a): print(time.strftime("%H:%M:%S"), f"[worker {self.rank}]", *a, flush=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    log = Prefixed(rank)
    local = f"scratch/w{rank}"
    log("loading base from", local)
    model = AutoModelForCausalLM.from_pretrained(local)
    tok = AutoTokenizer.from_pretrained(local)
    log("base ready,", sum(p.numel() for p in model.parameters()), "parameters")
    dist.barrier()
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    opt = torch.optim.AdamW(ddp.parameters(), 3e-4)
    sched = get_cosine_schedule_with_warmup(opt, 10, 100)
    for step in range(100):
        b = tok([f"sample text {step} of {world}"] * 4, return_tensors="pt")
        loss = ddp(**b, labels=b["input_ids"]).loss
        loss.backward(); opt.step(); sched.step(); opt.zero_grad()
        if step % 10 == 0:
            log("step", step, "loss", round(loss.item(), 4))
    dist.destroy_process_group()


main()
