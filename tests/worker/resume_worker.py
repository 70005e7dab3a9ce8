"""One rank that trains, breaks off and goes on; started by test_resume.py under torchrun.

    resume_worker.py OUT MODE…

A mode is a name of MODES below. Each rank's losses go to OUT/<mode>/rank-<R>.json.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path

import deepspeed
import torch
import transformers.trainer
from peft import LoraConfig, get_peft_model
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, Trainer, TrainerCallback, TrainingArguments

from allranks.worker import collective, gather_check, trainer_checkpoints
from allranks.worker.adapters import gather, unwrap
from allranks.worker.deepspeed_loop import Checkpoints

warnings.filterwarnings("ignore")
STEPS, BREAK = 6, 3
KINDS = {
    # name: (ZeRO stage, persistence threshold in values, bf16, offload)
    "parts": (3, 0, True, False),
    "some-whole": (3, 200, True, False),
    "float32": (3, 0, False, False),
    "offload": (3, 0, True, True),
    "stage-2": (2, 0, True, False),
    "stage-1": (1, 0, False, False),
    "none": (None, 0, True, False),  # no DeepSpeed
}


def model_of(seed: int):
    """The same base for every seed; the adapter's first values differ, so that loading them shows."""
    config = DeepseekV3Config(
        hidden_size=64, num_hidden_layers=2, n_routed_experts=4, n_group=2, topk_group=1, vocab_size=128,
        first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
        v_head_dim=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
        moe_intermediate_size=32, num_experts_per_tok=2, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    base = DeepseekV3ForCausalLM(config)
    blocks = [
        module
        for module in base.modules()
        if isinstance(getattr(module, "experts", None), torch.nn.ModuleList)
    ]
    if blocks:  # transformers 4: see allranks.worker.moe
        deepspeed.utils.set_z3_leaf_modules(base, [type(blocks[0])])
    torch.manual_seed(seed)
    targets = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
    lora = LoraConfig(r=5, lora_alpha=8, target_modules=targets, lora_dropout=0.2, task_type="CAUSAL_LM")
    return get_peft_model(base, lora)


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        ids = torch.randint(0, 128, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def deepspeed_json(kind: str) -> dict:
    stage, threshold, bf16, offload = KINDS[kind]
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": "auto",
        "zero_optimization": {"stage": stage},
        "bf16": {"enabled": bf16},
        "gradient_clipping": 1.0,
    }
    if stage == 3:
        config["zero_optimization"]["stage3_param_persistence_threshold"] = threshold
    if offload:
        config["zero_optimization"].update(
            offload_param={"device": "cpu"}, offload_optimizer={"device": "cpu"}
        )
        config["zero_force_ds_cpu_optimizer"] = False
    return config


class Losses(TrainerCallback):
    def __init__(self, stop: int):
        self.found, self.stop = [], stop

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.found.append([state.global_step, logs["loss"], logs["grad_norm"], logs["learning_rate"]])

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step >= self.stop


def trainer_of(kind: str, out: Path, seed: int, stop: int = STEPS, accumulation: int = 2):
    config = deepspeed_json(kind) if KINDS[kind][0] else None
    arguments = TrainingArguments(
        output_dir=str(out), deepspeed=config, max_steps=STEPS, save_steps=BREAK, learning_rate=1e-2,
        bf16=KINDS[kind][2], per_device_train_batch_size=1, gradient_accumulation_steps=accumulation, use_cpu=True,
        report_to=[], disable_tqdm=True, logging_steps=1, warmup_steps=1, lr_scheduler_type="cosine", seed=7,
    )  # fmt: skip
    losses = Losses(stop)
    trainer = Trainer(model=model_of(seed), args=arguments, train_dataset=Samples(), callbacks=[losses])
    return trainer, losses


def run(out: Path, name: str, trainer: Trainer, losses: Losses, resume: object = None) -> None:
    result: dict = {}
    try:
        trainer.train(resume_from_checkpoint=resume)
    except collective.CannotResume as error:
        result["refused"] = str(error)
    result["losses"] = losses.found
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(result))


def through_trainer(kind: str, out: Path) -> None:
    """Whole; broken off after three steps; and gone on with, by a rank 1 that does not see the folder."""
    run(out, "whole", *trainer_of(kind, out / "whole", 1))
    run(out, "broken", *trainer_of(kind, out / "broken", 1, stop=BREAK))
    home = os.getcwd()
    os.chdir(out if os.environ["RANK"] == "0" else "/")
    run(out, "resumed", *trainer_of(kind, out / "resumed", 2), f"broken/checkpoint-{BREAK}")
    os.chdir(home)


def through_loop(out: Path, frozen: bool = False) -> None:
    """A loop of its own under ZeRO-3: whole; broken off by the death of its newest checkpoint; gone on with."""
    loop(out / "whole", 1, STEPS, frozen=frozen)
    loop(out / "broken", 1, BREAK + 1, frozen=frozen)
    if os.environ["RANK"] == "0":  # the newest save was cut: the one before it counts
        state = out / "broken" / f"checkpoint-{BREAK + 1}" / "allranks-resume.safetensors"
        state.write_bytes(state.read_bytes()[:-8])
    torch.distributed.barrier()
    loop(out / "broken", 2, STEPS, name="resumed", frozen=frozen)


def loop(folder: Path, seed: int, until: int, name: str = "", frozen: bool = False) -> None:
    config = {**deepspeed_json("some-whole" if frozen else "parts"), "gradient_accumulation_steps": 2}
    model = model_of(seed)
    for path, parameter in model.named_parameters():
        if frozen and ".lora_A." in path:  # as LoRA-FA trains
            parameter.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    engine, _, _, _ = deepspeed.initialize(
        model=model, config=config, optimizer=torch.optim.AdamW(trained, lr=1e-2), model_parameters=trained
    )
    torch.manual_seed(seed + int(os.environ["RANK"]))
    checkpoints = Checkpoints(engine, str(folder), every=1)
    begun, losses = checkpoints.resume(), []
    row = checkpoints.state.get("row", 0)
    for step in range(begun + 1, until + 1):
        for _ in range(2):
            ids = Samples()[2 * row + int(os.environ["RANK"])]["input_ids"][None]
            loss = engine(input_ids=ids, labels=ids).loss
            engine.backward(loss)
            engine.step()
            row += 1
        losses.append([step, loss.item()])
        checkpoints.step(step, {"row": row})
    result = folder.parent / (name or folder.name)
    result.mkdir(parents=True, exist_ok=True)
    told = {"losses": losses, "gathers_that_differ": gathers_that_differ(engine)}
    (result / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(told))


def gathers_that_differ(engine, times: int = 60) -> int:
    """Of as many gathers of one state, by our means and by DeepSpeed's in turns: those whose values are not those of
    most, bit for bit."""
    model, engine = unwrap(engine)
    found, ranks = [], gather_check._ranks
    for number in range(times):
        gather_check._ranks = (lambda parameter: 1) if number % 2 else ranks
        state = gather(model, engine).state
        assert state is not None
        found.append(b"".join(state[name].view(torch.int16).numpy().tobytes() for name in sorted(state)))
    gather_check._ranks = ranks
    return times - Counter(found).most_common(1)[0][1]


def one_rank(mode: str, out: Path) -> None:
    """One rank instead of two: with as many samples a step, with fewer, from a state that was altered, from the last
    step."""
    checkpoint = out / "parts" / "broken" / f"checkpoint-{BREAK}"
    if mode == "over":
        checkpoint = out / "parts" / "whole" / f"checkpoint-{STEPS}"
    if mode == "altered":
        checkpoint = Path(shutil.copytree(checkpoint, out / "altered-from" / checkpoint.name))
        state = checkpoint / "allranks-resume.json"
        state.write_text(state.read_text().replace('"skipped_steps": 0', '"skipped_steps": 1'))
    trainer, losses = trainer_of("parts", out / mode, 2, accumulation=1 if mode == "alone-fewer" else 4)
    run(out, mode, trainer, losses, str(checkpoint))


def main() -> None:
    out, modes = Path(sys.argv[1]), sys.argv[2:]
    trainer_checkpoints.patch_trainer(transformers.trainer)
    for mode in modes:
        if mode in KINDS:
            through_trainer(mode, out / mode)
        elif mode in ("loop", "frozen"):
            through_loop(out / mode, frozen=mode == "frozen")
        else:
            one_rank(mode, out)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
