"""One rank of a tiny ZeRO-3 LoRA run that counts what it gathers. Started by test_gather_live.py under torchrun."""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist

counted = {"all_gather_into_tensor": 0, "reduce_scatter_tensor": 0}


def counting(name: str, argument: str, place: int) -> None:
    """Adds the bytes of one tensor argument of torch.distributed's function `name`, before DeepSpeed binds it."""
    function = getattr(dist, name)

    def wrapped(*args, **kwargs):
        tensor = kwargs[argument] if argument in kwargs else args[place]
        counted[name] += tensor.numel() * tensor.element_size()
        return function(*args, **kwargs)

    setattr(dist, name, wrapped)


def main() -> None:
    counting("all_gather_into_tensor", "output_tensor", 0)
    counting("reduce_scatter_tensor", "input", 1)
    import deepspeed
    import peft
    import transformers
    from transformers.integrations.deepspeed import HfDeepSpeedConfig

    job = json.loads(sys.argv[1])
    deepspeed.init_distributed("gloo")
    keep = HfDeepSpeedConfig(job["deepspeed"])
    values = {key: value for key, value in job["config"].items() if key != "model_type"}
    made = transformers.AutoConfig.for_model(job["config"]["model_type"], **values)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16)
    model = peft.get_peft_model(
        model, peft.LoraConfig(task_type="CAUSAL_LM", r=8, target_modules=job["targets"])
    )
    model.enable_input_require_grads()
    if job["leaf"]:
        deepspeed.utils.set_z3_leaf_modules(model, [job["leaf"]])
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": job["reentrant"]})
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=job["deepspeed"])
    ids = torch.randint(0, made.vocab_size, (1, 32))
    micro_step = 0
    for _ in range(4):
        counted.update(dict.fromkeys(counted, 0))
        loss = engine(input_ids=ids, labels=ids, use_cache=False).loss
        engine.backward(loss)
        micro_step = counted["all_gather_into_tensor"]
        engine.step()
    if dist.get_rank() == 0:
        row = {"micro_step": micro_step, "step": counted["all_gather_into_tensor"]}
        print(
            "COUNTED " + json.dumps({**row, "reduce_scatter": counted["reduce_scatter_tensor"]}), flush=True
        )
    del keep


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
