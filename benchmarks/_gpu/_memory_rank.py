"""One rank that trains a few steps of one configuration and prints what it held: `_memory_rank.py JOB.json …`.

LoRA or all weights, DeepSpeed's ZeRO-3 or none, as a Trainer does it: what trains is float32 outside DeepSpeed and
under autocast, AdamW is torch's fused one on a GPU, gradients are clipped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks._plan_rank import Watcher


class Separate(torch.nn.ModuleList):
    """Routed experts as single modules, as transformers before 5 had them, behind the interface of 5."""

    def __init__(self, config: Any) -> None:
        super().__init__(Expert(config) for _ in range(config.num_experts))
        self.is_transposed = False

    @property
    def gate_up_proj(self) -> torch.Tensor:  # transformers initializes these by name; ours are Linears
        return torch.empty(0)

    down_proj = gate_up_proj

    def forward(
        self, hidden: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor, *_: Any
    ) -> torch.Tensor:
        total = torch.zeros_like(hidden)
        mask = torch.nn.functional.one_hot(chosen, num_classes=len(self)).permute(2, 1, 0)
        for number, expert in enumerate(self):
            place, token = torch.where(mask[number])
            part = expert(hidden[token]) * weights[token, place, None]
            total.index_add_(0, token, part.to(hidden.dtype))
        return total


class Expert(torch.nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        wide, narrow = config.hidden_size, config.moe_intermediate_size
        self.gate_proj = torch.nn.Linear(wide, narrow, bias=False)
        self.up_proj = torch.nn.Linear(wide, narrow, bias=False)
        self.down_proj = torch.nn.Linear(narrow, wide, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


def built(job: dict[str, Any]) -> Any:
    """The model, on the device from the first byte on where nothing splits it."""
    from transformers.models.qwen3_moe import modeling_qwen3_moe

    values = {key: value for key, value in job["config"].items() if key != "model_type"}
    made = transformers.AutoConfig.for_model(job["config"]["model_type"], **values)
    fused = modeling_qwen3_moe.Qwen3MoeExperts
    torch.manual_seed(0)
    try:
        if job["unfused"]:
            modeling_qwen3_moe.Qwen3MoeExperts = Separate
        with torch.device(job["device"] if not job["deepspeed"] else "cpu"):
            model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16)
    finally:
        modeling_qwen3_moe.Qwen3MoeExperts = fused
    return model


def prepared(model: Any, job: dict[str, Any]) -> Any:
    """What trains, and how: PEFT's adapters, or all weights in float32 outside DeepSpeed."""
    if job["method"] == "lora":
        import peft

        wanted = peft.LoraConfig(task_type="CAUSAL_LM", r=job["rank"], target_modules=job["targets"])
        model = peft.get_peft_model(model, wanted)
        model.enable_input_require_grads()
    elif not job["deepspeed"]:
        model.float()
    if job["checkpointing"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": job["reentrant"]})
    model.train()
    return model


class Plain:
    """A Trainer's step without DeepSpeed."""

    def __init__(self, model: Any, optimizer: Any, device: str) -> None:
        self.model, self.optimizer, self.device = model, optimizer, device
        self.trained = [p for p in model.parameters() if p.requires_grad]

    def step(self, ids: torch.Tensor) -> None:
        with torch.autocast(self.device, torch.bfloat16):
            loss = self.model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Sharded:
    """DeepSpeed's."""

    def __init__(self, model: Any, optimizer: Any, job: dict[str, Any]) -> None:
        import deepspeed

        if job["leaf"]:
            deepspeed.utils.set_z3_leaf_modules(model, [job["leaf"]])
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=job["deepspeed"])

    def step(self, ids: torch.Tensor) -> None:
        self.engine.backward(self.engine(input_ids=ids, labels=ids, use_cache=False).loss)
        self.engine.step()


def trained(job: dict[str, Any]) -> Any:
    """(what makes a step, what must live as long as it). The configuration is known before the model is built: under
    ZeRO-3 transformers then splits it while it builds it."""
    keep = None
    if job["deepspeed"]:
        import deepspeed
        from transformers.integrations.deepspeed import HfDeepSpeedConfig

        if not dist.is_initialized():
            deepspeed.init_distributed("nccl" if job["device"] == "cuda" else "gloo")
        keep = HfDeepSpeedConfig(job["deepspeed"])
    model = prepared(built(job), job)
    job["separate_experts"] = sum(isinstance(module, Separate) for module in model.modules())
    what = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(what, lr=1e-5, fused=job["device"] == "cuda" or None)
    made = Sharded(model, optimizer, job) if job["deepspeed"] else Plain(model, optimizer, job["device"])
    return made, keep


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """What was held at most from the third step on, the seconds of a step, or that memory ran out."""
    on_gpu = job["device"] == "cuda"
    watcher, seconds = Watcher(), []
    row: dict[str, Any] = {"name": job["name"], "out_of_memory": False}
    try:
        one, _keep = trained(job)
        ids = torch.randint(0, job["config"]["vocab_size"], (job["rows"], job["tokens"])).to(job["device"])
        for number in range(job["steps"]):
            if number == 2:
                watcher.start()
                if on_gpu:
                    torch.cuda.reset_peak_memory_stats()
            began = time.monotonic()
            one.step(ids)
            if on_gpu:
                torch.cuda.synchronize()
            seconds.append(time.monotonic() - began)
    except torch.OutOfMemoryError as error:
        row.update(out_of_memory=True, said=str(error)[:300])
    watcher.over = True
    row["separate_experts"] = job.get("separate_experts")
    row.update(resident=watcher.peak, seconds=seconds[2:], transformers=transformers.__version__)
    if on_gpu:
        free, total = torch.cuda.mem_get_info()
        row.update(allocated=torch.cuda.max_memory_allocated(), reserved=torch.cuda.max_memory_reserved())
        row.update(taken=total - free, total=total, beside=total - free - torch.cuda.memory_reserved())
    return row


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    for path in sys.argv[1:]:
        job = json.loads(Path(path).read_text())
        if job["device"] == "cuda":
            torch.cuda.set_device(0)
        print("RESULT " + json.dumps(measured(job)), flush=True)


if __name__ == "__main__":
    main()
