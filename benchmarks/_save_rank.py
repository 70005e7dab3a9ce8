"""One rank of `benchmarks/save.py`: the same weights saved by stock's way and by ours, in turns.

_save_rank.py OUT HIDDEN EXPERTS SAVES      (DEVICE=cuda: on a GPU)
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

import deepspeed
import torch
import transformers
import transformers.trainer
from peft import LoraConfig, get_peft_model
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, Trainer, TrainingArguments

from allranks.worker import trainer_checkpoints

warnings.filterwarnings("ignore")
DEVICE = os.environ.get("DEVICE", "cpu")
TARGETS = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]


def model_of(hidden: int, experts: int):
    torch.manual_seed(0)
    config = DeepseekV3Config(
        hidden_size=hidden, num_hidden_layers=6, n_routed_experts=experts, n_group=4, topk_group=2, vocab_size=40000,
        first_k_dense_replace=1, q_lora_rank=hidden // 2, kv_lora_rank=hidden // 4, qk_nope_head_dim=32,
        qk_rope_head_dim=16, v_head_dim=32, num_attention_heads=8, num_key_value_heads=8,
        intermediate_size=3 * hidden, moe_intermediate_size=hidden, num_experts_per_tok=4, tie_word_embeddings=False,
    )  # fmt: skip
    base = DeepseekV3ForCausalLM(config).to(torch.bfloat16)
    blocks = {type(m) for m in base.modules() if isinstance(getattr(m, "experts", None), torch.nn.ModuleList)}
    if blocks:  # transformers 4: see allranks.worker.moe
        deepspeed.utils.set_z3_leaf_modules(base, list(blocks))
    return get_peft_model(
        base, LoraConfig(r=16, lora_alpha=32, target_modules=TARGETS, task_type="CAUSAL_LM")
    )


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        ids = torch.randint(0, 40000, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def trainer_of(out: Path, hidden: int, experts: int) -> Trainer:
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {
            "stage": 3,
            "stage3_gather_16bit_weights_on_model_save": True,
            "stage3_param_persistence_threshold": 0,  # nothing is whole by chance
        },
        "bf16": {"enabled": True},
    }
    arguments = TrainingArguments(
        output_dir=str(out), deepspeed=config, max_steps=1, save_strategy="no", learning_rate=1e-3, bf16=True,
        per_device_train_batch_size=1, use_cpu=DEVICE == "cpu", report_to=[], disable_tqdm=True, seed=1,
    )  # fmt: skip
    model = model_of(hidden, experts)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    return Trainer(model=model, args=arguments, train_dataset=Samples(), optimizers=(optimizer, Still()))


class Still:
    """A schedule that changes nothing: transformers 4.52.4's own meets a stricter torch here."""

    def step(self) -> None:
        pass

    def get_last_lr(self) -> list[float]:
        return [1e-3]

    def state_dict(self) -> dict:
        return {}


class Moved(TorchDispatchMode):
    """Bytes that this rank receives from others, whoever asks for them: every collective of torch passes here."""

    bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            self.bytes += received(func.__name__.partition(".")[0], args)
        return func(*args, **(kwargs or {}))


def received(name: str, args: tuple) -> int:
    """Raises RuntimeError for a collective that is not known here: it would be counted as nothing."""
    me, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    if name in ("_allgather_base_", "allgather_", "allgather_into_tensor_coalesced_"):
        return size_in(args[0]) - size_in(args[1])
    if name == "gather_":
        return size_in(args[0]) - size_in(args[1]) if size_in(args[0]) else 0
    if name == "broadcast_":
        return 0 if args[2] == me else size_in(args[0])
    if name == "recv_":
        return size_in(args[0])
    if name == "allreduce_":
        return 2 * size_in(args[0]) * (world - 1) // world  # a ring's
    if name in ("_reduce_scatter_base_", "reduce_scatter_"):
        return size_in(args[0]) * (world - 1)
    if name in ("send", "barrier"):
        return 0
    raise RuntimeError(f"c10d.{name} is not counted here")


def size_in(value) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(map(size_in, value)) if isinstance(value, list | tuple) else 0


def moved_by(act) -> int:
    """All ranks' together. Apart from the timing: the counting itself takes time."""
    with Moved() as moved:
        act()
    total = torch.tensor([moved.bytes], device=DEVICE)
    torch.distributed.all_reduce(total)
    return int(total.item())


def memory(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1]) * 1024


def measured(act) -> dict:
    """Seconds, and how far the resident memory rose above where it stood."""
    torch.distributed.barrier()
    with contextlib.suppress(
        OSError
    ):  # a kernel may have no such file: then the rise is that since the start
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
    synchronize()
    before, began = memory("VmRSS"), time.monotonic()
    act()
    torch.distributed.barrier()
    synchronize()
    return {"seconds": time.monotonic() - began, "rise": memory("VmHWM") - before}


def synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    out, hidden, experts, saves = Path(sys.argv[1]), *map(int, sys.argv[2:])
    trainer_checkpoints.patch_trainer(transformers.trainer)
    trainer = trainer_of(out, hidden, experts)
    trainer.train()
    ours, checkpoint = Trainer.save_model, Trainer._save_checkpoint
    ways = {"stock": (ours.allranks_stock, checkpoint.allranks_stock), "ours": (ours, checkpoint)}
    found: dict = {name: {"adapter": [], "checkpoint": []} for name in ways}
    moved: dict = {}
    for turn in range(saves + 1):
        for name, (save, save_all) in ways.items():
            Trainer.save_model = save
            folder = out / name
            trainer.args.output_dir = str(folder)
            acts = {
                "adapter": lambda save=save, folder=folder: save(trainer, str(folder / "adapter")),
                "checkpoint": lambda save_all=save_all: save_all(trainer, trainer.model_wrapped, None),
            }
            for kind, act in acts.items():
                if turn == 0:  # the first of each also loads code: its bytes are counted, its time is not
                    moved[name, kind] = moved_by(act)
                else:
                    found[name][kind].append(measured(act))
    total = sum(getattr(p, "ds_numel", p.numel()) for p in trainer.model.parameters())
    result = {
        "parameters": total,
        "transformers": transformers.__version__,
        "deepspeed": deepspeed.__version__,
    }
    for name, kinds in found.items():
        result[name] = {
            kind: {key: statistics.median(one[key] for one in every) for key in every[0]}
            for kind, every in kinds.items()
        }
        for kind in kinds:
            result[name][kind]["moved"] = moved[name, kind]
        result[name]["adapter_bytes"] = (out / name / "adapter" / "adapter_model.safetensors").stat().st_size
        result[name]["checkpoint_bytes"] = size_of(out / name / "checkpoint-1")
    one, other = (out / name / "adapter" / "adapter_model.safetensors" for name in found)
    result["equal"] = one.read_bytes() == other.read_bytes()
    if os.environ["RANK"] == "0":
        (out / "result.json").write_text(json.dumps(result))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


main()
