"""The training arguments that the plan needs, read once: the only place with their names and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from allranks.plan.lora import Lora, lora_of
from allranks.plan.vision_parts import USUAL, Freeze, freeze_of
from allranks.spec import LOCKSTEP, Run
from allranks.spec.trainer_yaml import is_on

PAIRED = ("dpo", "rm")
"""Stages that learn from pairs: a batch holds twice as many sequences as samples."""


@dataclass(frozen=True)
class Setting:
    """Training settings. `micro_batch` is samples per rank and micro-step, `cutoff` the longest sample in tokens,
    `quantization_bits` is None if the base rests in the compute precision. `weight_bytes` is the size of one frozen
    parameter."""

    method: str
    lora: Lora | None
    micro_batch: int
    accumulation: int
    cutoff: int
    max_steps: int | None
    epochs: float
    precision: str
    checkpointing: bool
    reentrant: bool
    reentrant_asked: bool
    quantization_bits: int | None
    attention: str
    liger: bool
    uses_gpu: bool
    optimizer: str
    scheduler: str
    known: bool = True
    stage: str = "sft"
    pref_loss: str = "sigmoid"
    warmup: bool = False
    """Whether the learning rate rises for at least a step."""
    eval_batch: int = 0
    """Samples per rank that are evaluated at once; 0 if the run does not evaluate."""
    own_loader: bool = False
    """Whether each rank reads only its own bytes of the base (`environment: {loader: own}`)."""
    packs: bool = False
    """Whether several samples share a sequence."""
    pure_bf16: bool = False
    """Whether gradients and the optimizer's moments are in bf16, too."""
    freeze: Freeze = USUAL
    """The frozen parts of a vision-language model."""
    experts_at_once: int = 0
    """The number of routed experts that are gathered together in lockstep; 0 if a layer's experts are one leaf."""
    stored_bits: float = 0.0
    """Bits per weight of a base whose files are quantized and that stays so in memory; 0 for any other base."""
    stored_blocks: int = 0
    """Weights for each float32 scale of a base whose files are FP8 and that LLaMA-Factory turns into the compute
    precision; 0 for any other base."""

    @property
    def bits_per_weight(self) -> float:
        """Of a quantized linear layer, scales included. 4 bits are NF4 with double quantization (QLoRA, arXiv
        2305.14314, section 3), 8 bits LLM.int8 (arXiv 2208.07339)."""
        return self.stored_bits or (
            4.127 if self.quantization_bits == 4 else (self.quantization_bits or 0) * 1.01
        )

    @property
    def rows(self) -> int:
        """Sequences per rank and micro-step: preferences are learnt from pairs (LLaMA-Factory 0.9.5,
        `data/collator.py`, `PairwiseDataCollatorWithPadding`)."""
        return self.micro_batch * self._sequences

    @property
    def eval_rows(self) -> int:
        """Sequences of one batch of an evaluation."""
        return self.eval_batch * self._sequences

    @property
    def _sequences(self) -> int:
        """Of one sample."""
        return 2 if self.stage in PAIRED else 1

    @property
    def has_fused_loss(self) -> bool:
        """Whether Liger's fused loss can take effect. Other stages need the logits, and LLaMA-Factory 0.9.5 switches it
        off for them (`model/model_utils/liger_kernel.py`, `require_logits`)."""
        return self.stage in ("pt", "sft")

    @property
    def vocabulary_bytes(self) -> float:
        """Bytes per token and entry of the vocabulary at the loss: float32 logits, their log-softmax and a gradient.
        DPO with a reference model and KTO hold the policy's logits and log-softmax while a second forward pass makes
        its own (LLaMA-Factory 0.9.5, `train/dpo/trainer.py`, `train/kto/trainer.py`)."""
        twice = self.stage == "kto" or (self.stage == "dpo" and self.pref_loss not in ("orpo", "simpo"))
        return 16.0 if twice else 12.0

    @property
    def moment_bytes(self) -> float:
        """Bytes per trained parameter of the optimizer's moments, in float32 with Adam (bitsandbytes keeps one byte for
        each of two; Adafactor factors them; Lion has one; transformers gives SGD no momentum)."""
        name = self.optimizer.lower()
        for part, size in (
            ("adafactor", 0.1),
            ("lion_8bit", 1.0),
            ("8bit", 2.0),
            ("lion", 4.0),
            ("sgd", 0.0),
        ):
            if part in name:
                return size
        return 4.0 if self.pure_bf16 else 8.0

    @property
    def uncounted(self) -> str:
        """A text that names the tensors that the stage keeps besides the model and that the plan does not count; empty
        if there are none (LLaMA-Factory 0.9.5, `train/trainer_utils.py`: `create_ref_model`, `create_reward_model`)."""
        if self.stage == "ppo":
            return "a value head, a reward model and what generation keeps"
        without = self.stage == "dpo" and self.pref_loss in ("orpo", "simpo")
        if self.stage in ("dpo", "kto") and self.method != "lora" and not without:
            return "a reference model"
        return ""

    @property
    def weight_bytes(self) -> float:
        """Bytes of a parameter in the compute precision."""
        return 2.0 if self.precision in ("bf16", "fp16") else 4.0


def with_stored_base(setting: Setting, config: Mapping[str, Any] | None) -> Setting:
    """The setting for a base whose `config.json` says that its files are quantized. LLaMA-Factory 0.9.5 turns FP8 and
    MXFP4 into the compute precision (`model_utils/quantization.py`); GPTQ, AWQ and bitsandbytes stay as they are, and
    `quantization_bit` has no effect on them."""
    stored = (config or {}).get("quantization_config")
    if not setting.known or not isinstance(stored, Mapping):
        return setting
    method = str(stored.get("quant_method") or "")
    if method == "fp8":
        sizes = stored.get("weight_block_size")
        if (
            isinstance(sizes, Sequence)
            and len(sizes) == 2
            and all(isinstance(n, int) and n > 0 for n in sizes)
        ):
            return replace(setting, stored_blocks=sizes[0] * sizes[1])
        return replace(setting, stored_blocks=128 * 128)
    bits = float(text) if (text := str(stored.get("bits") or "")).isdigit() else 0.0
    if method in ("gptq", "awq") and 0 < bits <= 8:
        group = stored.get("group_size")
        # Each group of a row has a scale of 16 bits and a zero point; -1 is one group for the whole row.
        size = bits + (16 + bits) / (group if isinstance(group, int) and group > 0 else 4096)
    elif method == "bitsandbytes" and stored.get("load_in_4bit"):
        # One scale of 32 bits for 64 weights, unless the scales are quantized, too.
        bits, size = 4.0, 4.127 if stored.get("bnb_4bit_use_double_quant") else 4.5
    elif method == "bitsandbytes" and stored.get("load_in_8bit"):
        bits, size = 8.0, 8.08
    else:
        return setting
    return replace(setting, quantization_bits=int(bits), stored_bits=size)


def setting_of(run: Run) -> Setting:
    """Reads LLaMA-Factory's arguments (0.9.5, `hparams/`) with its and transformers' defaults.

    For `train.command` nothing is known: `known` is False, and the numbers are the defaults.
    """
    arguments: Mapping[str, Any] = run.train.arguments if run.train.kind == "llamafactory" else {}
    method = str(arguments.get("finetuning_type") or "lora")
    steps = arguments.get("max_steps")
    bits = arguments.get("quantization_bit")
    return Setting(
        method=method,
        lora=lora_of(arguments) if method == "lora" else None,
        micro_batch=int(arguments.get("per_device_train_batch_size") or 8),
        accumulation=int(arguments.get("gradient_accumulation_steps") or 1),
        cutoff=int(arguments.get("cutoff_len") or 2048),
        max_steps=int(steps) if steps is not None and int(steps) > 0 else None,
        epochs=float(arguments.get("num_train_epochs") or 3.0),
        precision=_precision(arguments),
        checkpointing=not is_on(arguments.get("disable_gradient_checkpointing")),
        reentrant=is_on(arguments.get("use_reentrant_gc", True)),
        reentrant_asked="use_reentrant_gc" in arguments,
        quantization_bits=int(bits) if bits else None,
        attention=str(arguments.get("flash_attn") or "auto"),
        liger=is_on(arguments.get("enable_liger_kernel")),
        uses_gpu=not run.on_cpu,
        packs=_packs(arguments),
        pure_bf16=is_on(arguments.get("pure_bf16")),
        optimizer=str(arguments.get("optim") or "adamw_torch"),
        scheduler=str(arguments.get("lr_scheduler_type") or "linear"),
        known=run.train.kind == "llamafactory",
        stage=str(arguments.get("stage") or "sft"),
        pref_loss=str(arguments.get("pref_loss") or "sigmoid"),
        warmup=bool(arguments.get("warmup_steps") or arguments.get("warmup_ratio")),
        eval_batch=_eval_batch(arguments),
        freeze=freeze_of(arguments),
        own_loader=run.environment.loader == "own",
        experts_at_once=run.train.experts_at_once if run.train.experts == LOCKSTEP else 0,
    )


def _precision(arguments: Mapping[str, Any]) -> str:
    if is_on(arguments.get("bf16")) or is_on(arguments.get("pure_bf16")):
        return "bf16"
    return "fp16" if is_on(arguments.get("fp16")) else "fp32"


def _packs(arguments: Mapping[str, Any]) -> bool:
    """Whether several samples share a sequence: if asked for, and by default in pre-training (LLaMA-Factory 0.9.5,
    `hparams/parser.py`)."""
    if arguments.get("packing") is None:
        return is_on(arguments.get("neat_packing")) or arguments.get("stage") == "pt"
    return is_on(arguments["packing"])


def _eval_batch(arguments: Mapping[str, Any]) -> int:
    """transformers 5.6, `training_args.py`: `per_device_eval_batch_size` is 8 unless said; `eval_strategy` switches
    evaluation on."""
    strategy = arguments.get("eval_strategy", arguments.get("evaluation_strategy", "no"))
    if strategy in ("no", None, False) and not is_on(arguments.get("do_eval")):
        return 0
    return int(arguments.get("per_device_eval_batch_size") or 8)
