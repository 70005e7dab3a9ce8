"""Arguments of LLaMA-Factory and transformers, and the effect of each in a run file.

Read from LLaMA-Factory 0.9.5 (`hparams/`) and transformers 5.6 (`training_args.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from allranks.checks.lint.line import COSTLY, DROPPED, SET, VOID, WRONG, Line
from allranks.plan.versions import dotted

KNOWN: dict[str, str] = {
    "stage": "what is trained: pt, sft, rm, ppo, dpo, kto",
    "do_train": "that it trains",
    "model_name_or_path": "the base model",
    "dataset": "names in dataset_info.json",
    "dataset_dir": "the folder of dataset_info.json",
    "template": "the chat template; the same when the adapter is used",
    "cutoff_len": "the longest sample in tokens",
    "finetuning_type": "lora, full, freeze or oft",
    "lora_target": "the layers that get an adapter",
    "lora_rank": "the adapter's rank",
    "lora_alpha": "the adapter's scale: alpha / rank",
    "lora_dropout": "dropout before the adapter",
    "preprocessing_num_workers": "processes that tokenize, on rank 0 of each node",
    "overwrite_cache": "tokenizes again",
    "per_device_train_batch_size": "samples per rank and micro-step",
    "gradient_accumulation_steps": "micro-steps per optimizer step",
    "learning_rate": "the highest learning rate",
    "lr_scheduler_type": "how it falls",
    "adam_beta1": "Adam's first decay rate",
    "adam_beta2": "Adam's second decay rate",
    "adam_epsilon": "Adam's smallest divisor",
    "weight_decay": "weight decay",
    "warmup_steps": "steps until the highest learning rate",
    "warmup_ratio": "the same as a share of all steps",
    "max_grad_norm": "the largest norm of a gradient",
    "max_steps": "optimizer steps in all",
    "num_train_epochs": "passes over the data",
    "bf16": "computes in bfloat16",
    "fp16": "computes in half precision with loss scaling",
    "logging_steps": "steps between two lines",
    "save_strategy": "when to save",
    "save_only_model": "saves no optimizer states: smaller, and cannot be resumed",
    "save_on_each_node": "every node writes its own copy",
    "report_to": "loggers",
    "run_name": "the name in loggers",
    "ddp_timeout": "the process group's time-out in seconds (default 1800)",
    "dataloader_num_workers": "processes per rank that load data",
    "dataloader_pin_memory": "page-locked batches",
    "gradient_checkpointing": "computes activations twice in place of keeping them",
    "disable_gradient_checkpointing": "LLaMA-Factory's switch for it",
    "use_cpu": "trains on processors",
    "seed": "random numbers",
    "optim": "the optimizer",
    "flash_attn": "which attention kernel",
    "packing": "several samples in one",
    "logging_dir": "the folder of TensorBoard's files; allranks sets TENSORBOARD_LOGGING_DIR to it for transformers 5",
    "plot_loss": "a picture of the loss at the end",
    "trust_remote_code": "runs Python of the model's folder",
}
OURS = {
    "output_dir": "save.to",
    "overwrite_output_dir": "a folder of its own for each run",
    "save_steps": "save.every",
    "save_total_limit": "save.keep",
    "resume_from_checkpoint": "resume",
    "deepspeed": "deepspeed",
}
"""Arguments that allranks sets itself, each with the key of the run file that decides its value."""

GONE = {
    "save_safetensors": ((5, 0), "transformers 5 always writes safetensors and refuses it", "take it out"),
    "no_cuda": ((5, 0), "its name is use_cpu", "use_cpu: true"),
    "evaluation_strategy": ((4, 46), "its name is eval_strategy", "eval_strategy"),
    "fp16_backend": ((5, 0), "removed", "take it out"),
    "half_precision_backend": ((5, 0), "removed", "take it out"),
    "push_to_hub_token": ((5, 0), "its name is hub_token", "hub_token, through secrets"),
    "include_inputs_for_metrics": ((5, 0), "its name is include_for_metrics", "include_for_metrics"),
}
"""Arguments that transformers no longer takes: (the first version that refuses it, why, the fix)."""

NAMES_FILE = Path(__file__).with_name("llamafactory_arguments.json")


@functools.cache
def names() -> frozenset[str]:
    """The arguments that LLaMA-Factory 0.9.5 with transformers 5.6 accepts for training. A test compares them with the
    installed sources. If a node has reported the arguments that its own version accepts, that list decides."""
    return frozenset(json.loads(NAMES_FILE.read_text(encoding="utf-8"))["names"])


ABSURD_SECONDS = 7 * 86400


def line(
    name: str,
    value: Any,
    accepted: Collection[str] | None = None,
    transformers: tuple[int, ...] | None = None,
) -> Line:
    """The verdict on one trainer argument. `accepted` are the names that the installed trainer knows, None if no node
    has reported them."""

    def said(status: str, why: str, do: str = "") -> Line:
        return Line("argument", name, value, status, why, do)

    if name in OURS:
        return said(DROPPED, f"allranks sets it: {OURS[name]}")
    if accepted is not None and name not in accepted:
        why = "the installed LLaMA-Factory refuses an argument that it does not know"
        return said(WRONG, why, near(name, accepted))
    if accepted is None and name in GONE:
        since, why, do = GONE[name]
        if transformers is None:
            unread = f"{why} (since transformers {dotted(since)}; which version it is has not been read yet)"
            return said(WRONG, unread, do)
        if (*transformers, 0)[:2] >= since:
            return said(WRONG, why, do)
    if name == "local_rank":
        return said(VOID, "torchrun sets LOCAL_RANK", "take it out")
    if name == "ddp_timeout" and isinstance(value, (int, float)) and value > ABSURD_SECONDS:
        years = value / 86400 / 365
        return said(WRONG, f"{years:.1f} years: a rank that hangs holds all others for as long", "1800")
    if name == "dataloader_num_workers" and value == 0:
        return said(COSTLY, "each rank loads its data between two steps, while its GPU waits", "2 or more")
    if accepted is None and name not in names() and name not in GONE:
        return unheard_of(said, name)
    return said(SET, KNOWN.get(name, "handed on to the trainer"))


def unheard_of(said: Callable[..., Line], name: str) -> Line:
    """The verdict on a name that no node has confirmed: wrong if it is close to a known name, since it is probably a
    typing error then."""
    do = near(name, names())
    if do == NOTHING_NEAR:
        return said(SET, "LLaMA-Factory 0.9.5 does not know it; no node has said whether its own does")
    return said(WRONG, "LLaMA-Factory 0.9.5 knows no such argument, but one of nearly this name", do)


NOTHING_NEAR = "take it out"


def near(name: str, accepted: Collection[str]) -> str:
    """The name that was meant. Of two about as near (`…_train_batch_size`, `…_eval_…`) it is the commoner one."""
    from difflib import SequenceMatcher, get_close_matches

    if name in GONE and GONE[name][2]:
        return GONE[name][2]

    def likeness(other: str) -> float:
        return SequenceMatcher(None, other, name).ratio() + (0.05 if other in KNOWN else 0.0)

    close = sorted(get_close_matches(name, accepted, n=3, cutoff=0.75), key=likeness)
    return f"{close[-1]}, which it knows" if close else NOTHING_NEAR
