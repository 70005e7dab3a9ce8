"""One rank of a small ZeRO-3 LoRA run; rank 0 prints what the network carried, each rank its memory.

torchrun --nproc_per_node=N _plan_rank.py JOB.json     (in a network namespace of its own)
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def carried() -> int:
    """Bytes that the loopback has carried, by the kernel's counter."""
    with open("/proc/net/dev", encoding="ascii") as file:
        return next(int(row.split(":")[1].split()[0]) for row in file if row.strip().startswith("lo:"))


def resident() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(row.split()[1]) * 1024 for row in file if row.startswith("VmRSS"))


class Watcher(threading.Thread):
    """The most resident memory since `start`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.over = False

    def run(self) -> None:
        while not self.over:
            self.peak = max(self.peak, resident())
            time.sleep(0.005)


def engine(job: dict):
    import deepspeed
    import peft
    import torch
    import transformers
    from transformers.integrations.deepspeed import HfDeepSpeedConfig

    transformers.logging.set_verbosity_error()
    if job["gpu"]:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed("nccl" if job["gpu"] else "gloo")
    keep = HfDeepSpeedConfig(job["deepspeed"])
    values = {key: value for key, value in job["config"].items() if key != "model_type"}
    made = transformers.AutoConfig.for_model(job["config"]["model_type"], **values)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16)
    wanted = peft.LoraConfig(task_type="CAUSAL_LM", r=job["rank"], target_modules=job["targets"])
    model = peft.get_peft_model(model, wanted)
    model.enable_input_require_grads()
    if job["leaf"]:
        deepspeed.utils.set_z3_leaf_modules(model, [job["leaf"]])
    if job["checkpointing"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": job["reentrant"]})
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    made_engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=job["deepspeed"])
    return made_engine, made.vocab_size, keep


def main() -> None:
    import torch
    import torch.distributed as dist

    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    trained, vocabulary, _keep = engine(job)
    ids = torch.randint(0, vocabulary, (1, job["tokens"])).to(trained.device)
    steps, watcher = [], Watcher()
    for step in range(job["steps"]):
        if step == 2:
            watcher.start()
            if job["gpu"]:
                torch.cuda.reset_peak_memory_stats()
        dist.barrier()
        before = carried()
        dist.barrier()  # nobody begins before the counter was read
        loss = trained(input_ids=ids, labels=ids, use_cache=False).loss
        trained.backward(loss)
        trained.step()
        dist.barrier()
        steps.append(carried() - before)
        dist.barrier()
    watcher.over = True
    row = {"rank": dist.get_rank(), "carried": steps, "resident": watcher.peak}
    if job["gpu"]:
        row["allocated"] = torch.cuda.max_memory_allocated()
        row["reserved"] = torch.cuda.max_memory_reserved()
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, row)
    if dist.get_rank() == 0:
        print("RESULT " + json.dumps(gathered), flush=True)


if __name__ == "__main__":
    main()
