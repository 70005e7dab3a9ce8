"""One rank that loads small models in transformers' way and in ours; started by test_base_loading.py under torchrun.

    loading_worker.py OUT

OUT/rank-N.json: {case: {"stock" | "own": {digests, buffers, sent, error, notes}}}. allranks.worker is active here as in
a run, its hooks in place before transformers comes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import numpy

from allranks.core import cache_folder
from allranks.worker import activation, partition_plan, weight_files, zero_construction

activation.activate()

import torch  # noqa: E402


def waiting(name: str) -> None:
    """DeepSpeed 0.16 does not wait for its collectives on CPUs: the stock way then gives wrong values by chance."""
    original = getattr(torch.distributed, name)

    def wrapped(*args, **kwargs):
        work = original(*args, **kwargs)
        if work is not None:
            work.wait()
        return work

    setattr(torch.distributed, name, wrapped)


if version("deepspeed").startswith("0.16."):
    for one in ("broadcast", "all_gather", "all_gather_into_tensor", "all_reduce"):
        waiting(one)

import deepspeed  # noqa: E402
import transformers.modeling_utils  # noqa: E402  (with the hooks, on every rank)
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import (  # noqa: E402
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    DeepseekV3Config,
    LlamaConfig,
)
from transformers.integrations import HfDeepSpeedConfig  # noqa: E402

from benchmarks import _load_rank  # noqa: E402
from tests.worker import users_models  # noqa: E402

DTYPE = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
BF16 = {DTYPE: torch.bfloat16}
zero_construction.BLANK_BYTES = 4096  # these models have nothing large
LLAMA = {
    "hidden_size": 64, "intermediate_size": 253, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 1000,
}  # fmt: skip
MOE = {
    "hidden_size": 64, "intermediate_size": 160, "moe_intermediate_size": 33, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "n_routed_experts": 12, "num_experts_per_tok": 2,
    "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "q_lora_rank": 32, "kv_lora_rank": 16,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "vocab_size": 1024,
}  # fmt: skip


def make(out: Path) -> None:
    """The models, by the one rank that writes."""
    torch.manual_seed(0)
    dense = AutoModelForCausalLM.from_config(LlamaConfig(**LLAMA), **BF16)
    dense.save_pretrained(out / "dense", max_shard_size="300KB")
    tied = LlamaConfig(**LLAMA, tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(tied, **{DTYPE: torch.float32}).save_pretrained(out / "tied")
    moe = AutoModelForCausalLM.from_config(DeepseekV3Config(**MOE), **BF16)
    moe.save_pretrained(out / "moe", max_shard_size="300KB")
    converted(out)
    fp8(out)
    copy(out, "pickle").joinpath("model.safetensors.index.json").unlink()
    torch.save(dense.state_dict(), out / "pickle" / "pytorch_model.bin")
    for file in (out / "pickle").glob("*.safetensors"):
        file.unlink()
    copy(out, "shape")
    config = json.loads((out / "shape" / "config.json").read_text())
    (out / "shape" / "config.json").write_text(json.dumps({**config, "intermediate_size": 252}))
    shard = "model-00002-of-00003.safetensors"
    size = (out / "dense" / shard).stat().st_size
    os.truncate(copy(out, "cut-1") / shard, size - 100)
    (copy(out, "missing-1") / shard).unlink()
    older = load_file(out / "dense" / shard)
    save_file(
        {name: one + 1 for name, one in older.items()},
        copy(out, "older-1") / shard,
        metadata={"format": "pt"},
    )
    index = json.loads((out / "dense" / "model.safetensors.index.json").read_text())
    lost = next(name for name, file in sorted(index["weight_map"].items()) if file == shard)
    del older[lost]
    save_file(older, copy(out, "index-1") / shard, metadata={"format": "pt"})
    other = copy(out, "config-1") / "config.json"
    other.write_text(json.dumps({**json.loads(other.read_text()), "num_hidden_layers": 2}))
    copy(out, "cached")
    lost_head(out)
    users_models.make(out)


def lost_head(out: Path) -> None:
    """Files that are complete by their index, without the model's large head."""
    folder = copy(out, "lost")
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    file = folder / index["weight_map"].pop("lm_head.weight")
    path.write_text(json.dumps(index))
    tensors = load_file(file)
    del tensors["lm_head.weight"]
    save_file(tensors, file, metadata={"format": "pt"})


def copy(out: Path, name: str) -> Path:
    return Path(shutil.copytree(out / "dense", out / name))


def converted(out: Path) -> None:
    """The dense model as nobody stores it: q, k and v in one tensor, and one that has to be transposed."""
    folder = copy(out, "converted")
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
        file.unlink()
    (folder / "model.safetensors.index.json").unlink()
    for layer in range(LLAMA["num_hidden_layers"]):
        begin = f"model.layers.{layer}."
        three = [tensors.pop(f"{begin}self_attn.{one}_proj.weight") for one in "qkv"]
        tensors[f"{begin}self_attn.qkv.weight"] = torch.cat(three)
        tensors[f"{begin}mlp.down_t.weight"] = tensors.pop(f"{begin}mlp.down_proj.weight").T.contiguous()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def fp8(out: Path) -> None:
    """The MoE in blocks of 16 x 16 in fp8, and the same dequantized by plain arithmetic."""
    moe = {**MOE, "moe_intermediate_size": 32}
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(DeepseekV3Config(**moe), **BF16).save_pretrained(
        out / "fp8", max_shard_size="300KB"
    )
    shutil.copytree(out / "fp8", out / "bf16")
    for file in (out / "fp8").glob("*.safetensors"):
        small, plain = {}, {}
        for name, one in load_file(file).items():
            small[name] = plain[name] = one
            if "_proj" in name and one.dim() == 2 and "layernorm" not in name:
                scale = torch.rand(-(-one.shape[0] // 16), -(-one.shape[1] // 16)) + 0.01
                wide = scale.repeat_interleave(16, 0)[: one.shape[0]].repeat_interleave(16, 1)[
                    :, : one.shape[1]
                ]
                small[name] = (one.float() / wide).to(torch.float8_e4m3fn)
                small[f"{name}_scale_inv"] = scale
                plain[name] = (small[name].float() * wide).to(torch.bfloat16)
        save_file(small, file, metadata={"format": "pt"})
        save_file(plain, out / "bf16" / file.name, metadata={"format": "pt"})
    config = json.loads((out / "fp8" / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "fp8", "weight_block_size": [16, 16], "activation_scheme": "dynamic"
    }  # fmt: skip
    (out / "fp8" / "config.json").write_text(json.dumps(config))


def main() -> None:
    out = Path(sys.argv[1])
    deepspeed.init_distributed("gloo")
    rank = torch.distributed.get_rank()
    if rank == 0:
        make(out)
    torch.distributed.barrier()
    sent = _load_rank.counted(torch)
    config = HfDeepSpeedConfig(
        {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}
    )
    told: dict = {}
    for case in (
        "dense",
        "tied",
        "moe",
        "head",
        "body",
        "lost",
        "pickle",
        "shape",
        "outer",
        *users_models.KINDS,
    ):
        told[case] = {loader: load(out, case, loader, rank, sent) for loader in ("stock", "own")}
    for case in ("cut", "missing", "older", "index", "config", "wrong", "touched", "mixed", "plans"):
        told[case] = {"own": load(out, case, "own", rank, sent)}
    told["cached"] = cached(out, rank, sent)
    if int(transformers.__version__.split(".")[0]) >= 5:
        told["fp8"] = {
            "own": load(out, "fp8", "own", rank, sent),
            "stock": load(out, "bf16", "stock", rank, sent),
        }
        os.environ[cache_folder.PATH] = str(out / "cache")
        told["cached"].update(
            {f"fp8 {step}": load(out, "fp8", "own", rank, sent) for step in ("written", "read")}
        )
        del os.environ[cache_folder.PATH]
        from transformers import FineGrainedFP8Config

        asked = {"quantization_config": FineGrainedFP8Config(weight_block_size=(16, 16), dequantize=True)}
        told["fp8-asked"] = {
            "own": load(out, "fp8", "own", rank, sent, **asked),
            "stock": told["fp8"]["stock"],
        }
        register()
        told["converted"] = {
            loader: load(out, "converted", loader, rank, sent) for loader in ("stock", "own")
        }
    told["active"] = bool(config)
    (out / f"rank-{rank}.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def cached(out: Path, rank: int, sent: dict) -> dict:
    """One model again and again with a cache: rank 1's part gets a wrong bit, then the model is another one."""
    os.environ[cache_folder.PATH] = str(out / "cache")
    told = {}
    for step in ("written", "read", "damaged", "again", "replaced"):
        parts = sorted((out / "cache" / cache_folder.own_name()).glob("*-r1.part"))
        if step == "damaged" and rank == 1:
            for part in parts:
                with part.open("r+b") as file:
                    file.seek(5000)
                    byte = file.read(1)[0]
                    file.seek(5000)
                    file.write(bytes([byte ^ 1]))
        shard = "model-00002-of-00003.safetensors"
        if step == "replaced" and rank == 0:
            shutil.copy(out / "older-1" / shard, out / "cached" / shard)
        torch.distributed.barrier()
        told[step] = load(out, "cached", "own", rank, sent)
        torch.distributed.barrier()
    del os.environ[cache_folder.PATH]
    told["replaced stock"] = load(out, "cached", "stock", rank, sent)
    return told


def register() -> None:
    from transformers.conversion_mapping import register_checkpoint_conversion_mapping
    from transformers.core_model_loading import Chunk, Transpose, WeightConverter

    conversions = [
        WeightConverter("mlp.down_t.weight", "mlp.down_proj.weight", [Transpose(0, 1)]),
        WeightConverter("self_attn.qkv", [f"self_attn.{one}_proj" for one in "qkv"], [Chunk(0)]),
    ]
    register_checkpoint_conversion_mapping("llama", conversions, overwrite=True)


@contextlib.contextmanager
def spoilt(case: str, folder: Path, rank: int):
    """`wrong`: rank 2 gets a wrong bit from the disk; `touched`: rank 1's files are written to meanwhile; `plans`: on
    rank 1 one module loads in a way of its own."""
    read, special = weight_files.Files.read, partition_plan.names_of_special_modules
    if case == "plans" and rank == 1:
        partition_plan.names_of_special_modules = lambda model: {"model.layers.0.mlp.up_proj"}
    if case == "body":
        partition_plan.names_of_special_modules = lambda model: {"layers.0.mlp.up_proj"}

    def wrong(self, name: str, first: int, target: memoryview) -> None:
        read(self, name, first, target)
        if case == "wrong" and rank == 2 and "layers.1.mlp.up_proj" in name and len(target) > 5000:
            target[0] ^= 1
        if case == "touched" and rank == 1:
            os.utime(folder / "model-00001-of-00003.safetensors")

    weight_files.Files.read = wrong if case in ("wrong", "touched") else read
    try:
        yield
    finally:
        weight_files.Files.read = read
        partition_plan.names_of_special_modules = special


def load(out: Path, case: str, loader: str, rank: int, sent: dict, **more) -> dict:
    os.environ["ALLRANKS_LOADER"] = "stock" if case == "mixed" and rank == 1 else loader
    torch.manual_seed(7)
    random.seed(rank)
    numpy.random.seed(rank)
    folder = out / case
    if case in ("cut", "missing", "older", "index", "config"):  # rank 1's own copy is the bad one
        folder = out / (f"{case}-1" if rank == 1 else "dense")
    if case in ("wrong", "touched", "mixed", "plans"):
        folder = out / "dense"
    kind = {"head": AutoModelForSequenceClassification, "body": AutoModel}.get(case, AutoModelForCausalLM)
    if kind is not AutoModelForCausalLM:
        folder = out / "dense"
    kind = users_models.KINDS.get(case, kind)
    if case == "outer":
        folder = out / "tied"  # in fp32, and DeepSpeed's own default within such a block is fp16
    sent["bytes"] = 0
    notes = activation.ACTIVE.notes
    del notes[:]
    try:
        outer = deepspeed.zero.Init() if case == "outer" else contextlib.nullcontext()
        with spoilt(case, folder, rank), outer:
            model = kind.from_pretrained(folder, **BF16, **more)
    except Exception as error:
        gc.collect()
        return {"error": f"{type(error).__name__}: {error}", "notes": list(notes)}
    return {
        "digests": {name: _load_rank.digest(torch, one) for name, one in model.named_parameters()},
        "buffers": {name: _load_rank.hashed(torch, one) for name, one in model.named_buffers()},
        "sent": sent["bytes"], "error": None, "notes": list(notes),
    }  # fmt: skip


if __name__ == "__main__":
    main()
    os._exit(0)
