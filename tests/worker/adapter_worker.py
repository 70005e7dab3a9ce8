"""One rank of a training run that saves its adapter both ways; started by test_adapters.py under torchrun."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import deepspeed
import torch
import transformers.trainer
from peft import LoraConfig, get_peft_model
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, Trainer, TrainingArguments

from allranks.worker import adapters, disk_space, gather_check, shard_gather, trainer_checkpoints

warnings.filterwarnings("ignore")
ATTENTION = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
KINDS = {
    # name: (ZeRO stage, persistence threshold in values, LoraConfig, bf16)
    "parts": (3, 0, {}, True),
    "some-whole": (3, 200, {}, True),
    "all-whole": (3, 10**6, {"use_rslora": True}, True),
    "float32": (3, 0, {"use_dora": True}, False),
    "saved-modules": (3, 0, {"modules_to_save": ["lm_head"]}, True),
    "fused-experts": (3, 0, {"target_parameters": ["mlp.experts.down_proj"]}, True),
    "offload": (3, 0, {}, True),
    "stage-2": (2, 0, {}, True),
    "stage-1": (1, 0, {}, False),
}


def model_of(lora: dict):
    torch.manual_seed(0)
    config = DeepseekV3Config(
        hidden_size=64, num_hidden_layers=2, n_routed_experts=4, n_group=2, topk_group=1, vocab_size=128,
        first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
        v_head_dim=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
        moe_intermediate_size=32, num_experts_per_tok=2, tie_word_embeddings=False,
    )  # fmt: skip
    keys = {"r": 4, "lora_alpha": 8, "target_modules": ATTENTION, "task_type": "CAUSAL_LM", **lora}
    return get_peft_model(DeepseekV3ForCausalLM(config), LoraConfig(**keys))


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, 128, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def trainer_of(kind: str, out: Path, steps: int = 2) -> Trainer:
    stage, threshold, lora, bf16 = KINDS[kind]
    json_config = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": stage, "stage3_gather_16bit_weights_on_model_save": True},
        "bf16": {"enabled": bf16},
        "gradient_clipping": "auto",
    }
    if kind == "offload":  # with torch's optimizer, which needs no compiler
        json_config["zero_optimization"].update(
            offload_param={"device": "cpu"}, offload_optimizer={"device": "cpu"}
        )
        json_config["zero_force_ds_cpu_optimizer"] = False
    if stage == 3:
        json_config["zero_optimization"]["stage3_param_persistence_threshold"] = threshold
    arguments = TrainingArguments(
        output_dir=str(out), deepspeed=json_config, max_steps=steps, save_steps=1, learning_rate=1e-2, bf16=bf16,
        per_device_train_batch_size=1, use_cpu=True, report_to=[], disable_tqdm=True, save_only_model=True, seed=1,
    )  # fmt: skip
    return Trainer(model=model_of(lora), args=arguments, train_dataset=Samples())


class Gathers:
    """Counts what DeepSpeed is asked to put together, and what we put together ourselves."""

    def __enter__(self):
        self.trained = self.frozen = self.largest = 0
        self.real = real = deepspeed.zero.GatheredParameters
        counter = self

        def counted(params, *args, **keys):
            params = list(params) if not isinstance(params, torch.Tensor) else [params]
            absent = [p for p in params if hasattr(p, "ds_id") and p.ds_status.name != "AVAILABLE"]
            sizes = [(p.ds_numel * p.element_size(), p.requires_grad) for p in absent]
            counter.trained += sum(size for size, trains in sizes if trains)
            counter.frozen += sum(size for size, trains in sizes if not trains)
            counter.largest = max(counter.largest, sum(size for size, _ in sizes))
            return real(params, *args, **keys)

        self.own = own = shard_gather.gather

        def counted_parts(piece, keepers):
            sizes = [(p.ds_numel * p.element_size(), p.requires_grad) for _, p in piece]
            counter.trained += sum(size for size, trains in sizes if trains)
            counter.frozen += sum(size for size, trains in sizes if not trains)
            counter.largest = max(counter.largest, sum(size for size, _ in sizes))
            return own(piece, keepers)

        deepspeed.zero.GatheredParameters, shard_gather.gather = counted, counted_parts
        return self

    def __exit__(self, *_):
        deepspeed.zero.GatheredParameters, shard_gather.gather = self.real, self.own


def one_kind(kind: str, out: Path) -> dict:
    """Trains under our save, then saves the same weights by stock's, ours in a trainer, and ours in a loop."""
    trainer = trainer_of(kind, out)
    trainer.train()
    stock = Trainer.save_model.allranks_stock
    with Gathers() as by_stock:
        stock(trainer, str(out / "stock"))
    started = time.monotonic()
    with Gathers() as by_us:
        trainer.save_model(str(out / "ours"))
    seconds = time.monotonic() - started
    trainer.save_model(str(out / "ours"))  # over an existing one
    saved = adapters.save_adapter(trainer.model_wrapped, str(out / "loop"), step=2, piece_bytes=4096)
    trained = sum(getattr(p, "ds_numel", p.numel()) for p in trainer.model.parameters() if p.requires_grad)
    persists = [p.ds_status.name for p in trainer.model.parameters() if getattr(p, "ds_persist", False)]
    torch.distributed.barrier()
    return {
        "stock": vars(by_stock), "ours": vars(by_us), "trained": trained, "seconds": seconds,
        "tensors": saved.tensors, "path": saved.path, "gathered": saved.gathered_bytes,
        "released": sum(status != "AVAILABLE" for status in persists),
    }  # fmt: skip


class Wrong:
    """Rank 0 gets one value of one parameter otherwise than rank 1 holds it, in the first `times` gathers of it."""

    def __init__(self, tensor, times: int):
        self.tensor, self.left = tensor, times

    def __enter__(self):
        self.real = real = shard_gather.gather

        def gathered(piece, keepers):
            found = real(piece, keepers)
            for name, tensor in piece:
                if tensor is self.tensor and self.left and found is not None:
                    self.left -= 1
                    found[name].view(-1)[-1] += 1
            return found

        shard_gather.gather = gathered

    def __exit__(self, *_):
        shard_gather.gather = self.real


def wrongly_gathered(out: Path) -> dict:
    """What each way of saving does where a tensor is not what the ranks hold: once, always, and then no more."""
    trainer = trainer_of("some-whole", out)
    trainer.train()
    engine, told = trainer.model_wrapped, {}
    named = [(name, p) for name, p in trainer.model.named_parameters() if p.requires_grad]
    name, tensor = next((name, p) for name, p in named if not p.ds_persist)
    kept, whole = next((name, p) for name, p in named if p.ds_persist)
    adapters.save_adapter(engine, str(out / "right"))
    with Wrong(tensor, 1):
        adapters.save_adapter(engine, str(out / "once"))
    if torch.distributed.get_rank() == 0:
        whole.data.view(-1)[-1] += 1  # a copy that ZeRO-3 keeps has gone astray
    adapters.save_adapter(engine, str(out / "kept"))
    with Wrong(tensor, 99):
        for way, save in (
            ("always", lambda to: adapters.save_adapter(engine, to)),
            ("trainer", trainer.save_model),
        ):
            try:
                save(str(out / way))
                told[way] = "saved"
            except adapters.NotExact as error:
                told[way] = str(error)
    ranks = gather_check._ranks
    if torch.distributed.get_rank() == 1:  # one rank's word is enough
        gather_check._ranks = lambda parameter: 1
    adapters.save_adapter(engine, str(out / "unread"))
    gather_check._ranks = ranks
    adapters.save_adapter(engine, str(out / "after"))
    return {"name": name, "kept": kept, **told}


def fills_up(out: Path) -> list:
    """Three steps with a whole checkpoint after each; for the first there is no inode, for the second no byte for the
    trainer's own state, though `statvfs` says otherwise."""
    told: list = []
    disk_space.TOLD[:] = [
        SimpleNamespace(emit=lambda event: told.append([event.KIND, event.step, event.why]))
    ]
    trainer = trainer_of("parts", out, steps=3)
    trainer.args.save_only_model = False
    write_whole, sync = trainer_checkpoints.write_whole, trainer_checkpoints.sync

    def no_inode(*args):
        if trainer.state.global_step == 1:
            raise OSError(28, "No space left on device")
        write_whole(*args)

    def no_byte(path):
        if trainer.state.global_step == 2:
            raise OSError(122, "Disk quota exceeded")
        sync(path)

    trainer_checkpoints.write_whole, trainer_checkpoints.sync = no_inode, no_byte
    trainer.train()
    trainer_checkpoints.write_whole, trainer_checkpoints.sync = write_whole, sync
    del disk_space.TOLD[:]
    return told


def continues(out: Path) -> None:
    """Three steps with a save after each: by stock and by ours, from the same seed."""
    ours = Trainer.save_model
    for name, save in (("ours", ours), ("stock", ours.allranks_stock)):
        Trainer.save_model = save
        trainer_of("some-whole", out / name, steps=3).train()
    Trainer.save_model = ours


def main() -> None:
    out, kinds = Path(sys.argv[1]), sys.argv[2:]
    assert trainer_checkpoints.patch_trainer(transformers.trainer)
    assert not trainer_checkpoints.patch_trainer(transformers.trainer)
    results = {}
    for kind in kinds:
        if kind == "continues":
            continues(out / kind)
        elif kind == "fills-up":
            results[kind] = fills_up(out / kind)
        elif kind == "wrongly-gathered":
            results[kind] = wrongly_gathered(out / kind)
        else:
            results[kind] = one_kind(kind, out / kind)
    rank = torch.distributed.get_rank()
    text = json.dumps(results, default=lambda value: None)
    (out / f"rank-{rank}.json").write_text(text)
    torch.distributed.destroy_process_group()
    # Under load torch's own threads now and then abort the interpreter's end ("terminate called without an
    # active exception", SIGABRT); what is tested here has been written by then.
    os._exit(0)


main()
