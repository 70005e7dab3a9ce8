"""Whole adapters, written by hand byte by byte, for the tests to damage."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
from pathlib import Path

import pytest

from allranks import checkpoints
from tests import said

RANK = 4
# [out, in] of a tiny DeepSeek-V3's attention: hidden 64, q_lora_rank 32, kv_lora_rank 16, 4 heads of 16+8 and 16.
SHAPES = {
    "self_attn.q_a_proj": (32, 64),
    "self_attn.q_b_proj": (96, 32),
    "self_attn.kv_a_proj_with_mqa": (24, 64),
    "self_attn.kv_b_proj": (128, 16),
    "self_attn.o_proj": (64, 64),
}
BASE_CONFIG = {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 64}
WIDTH = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8}


def values(count: int, dtype: str, seed: int = 0) -> bytes:
    """`count` small finite values, none of them zero."""
    source = random.Random(seed)
    numbers = [source.uniform(0.01, 0.05) * source.choice((-1, 1)) for _ in range(count)]
    if dtype == "BF16":
        return b"".join(struct.pack("<f", n)[2:] for n in numbers)
    return struct.pack(f"<{count}{dict(F16='e', F32='f', F64='d')[dtype]}", *numbers)


def product(shape) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


def safetensors(entries: dict, metadata=None, header=None) -> bytes:
    """The bytes of a safetensors file; `entries` maps a name to (dtype, shape, data)."""
    table, end = {"__metadata__": metadata or {"format": "pt"}}, 0
    for name, (dtype, shape, data) in entries.items():
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + len(data)]}
        end += len(data)
    raw = header if header is not None else json.dumps(table, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw + b"".join(data for _, _, data in entries.values())


class Checkpoint:
    """What a checkpoint will hold; change it, then `write` it. What `write` made can be changed on disk too."""

    def __init__(self, path: Path, step: int = 20, dtype: str = "BF16", layers: int = 3):
        self.path, self.step, self.dtype = path, step, dtype
        self.tensors: dict = {}
        self.config = {
            "peft_type": "LORA", "r": RANK, "lora_alpha": 8, "base_model_name_or_path": "/models/tiny-deepseek-v3",
            "target_modules": [name.rpartition(".")[2] for name in SHAPES], "bias": "none", "use_dora": False,
            "modules_to_save": None, "task_type": "CAUSAL_LM", "rank_pattern": {}, "layers_to_transform": None,
        }  # fmt: skip
        self.state = {"global_step": step, "log_history": []}
        self.covered = ["adapter_model.safetensors", "adapter_config.json", "trainer_state.json"]
        self.manifest_step = step
        for layer in range(layers):
            for name, shape in SHAPES.items():
                self.add(f"model.layers.{layer}.{name}", shape)

    def add(self, module: str, shape, rank: int = RANK) -> None:
        out, size = shape
        self.put(f"base_model.model.{module}.lora_A.weight", (rank, size))
        self.put(f"base_model.model.{module}.lora_B.weight", (out, rank))

    def put(self, name: str, shape, data: bytes | None = None, dtype: str | None = None) -> None:
        dtype = dtype or self.dtype
        data = values(product(shape), dtype, len(self.tensors)) if data is None else data
        self.tensors[name] = (dtype, tuple(shape), data)

    def rename(self, change) -> None:
        self.tensors = {change(name): entry for name, entry in self.tensors.items()}

    @property
    def parameters(self) -> int:
        return sum(product(shape) for _, shape, _ in self.tensors.values())

    @property
    def weights(self) -> Path:
        return self.path / "adapter_model.safetensors"

    def write(self, manifest: bool = True) -> Checkpoint:
        self.path.mkdir(parents=True, exist_ok=True)
        self.weights.write_bytes(safetensors(self.tensors))
        (self.path / "adapter_config.json").write_text(json.dumps(self.config, indent=2))
        if self.state is not None:
            (self.path / "trainer_state.json").write_text(json.dumps(self.state))
        if manifest:
            self.seal()
        return self

    def seal(self) -> Checkpoint:
        """Writes the manifest over the covered files as they are now."""
        files = {}
        for name in self.covered:
            if (self.path / name).exists():
                data = (self.path / name).read_bytes()
                files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        text = {
            "step": self.manifest_step, "world_size": 2, "base_model": "tiny-deepseek-v3", "versions": {},
            "targets": self.config.get("target_modules"), "files": files,
        }  # fmt: skip
        (self.path / "allranks.json").write_text(json.dumps(text))
        return self


SAID = ("test_kinds", "test_prune", "test_verify_damage", "test_verify_whole")
"""The modules whose verdicts are kept as text: those that draw nothing at random."""


@pytest.fixture(autouse=True)
def _what_is_said(request, monkeypatch, tmp_path):
    """What `verify` and `prune` report in these modules is what the files of `said` hold: see tests/said.py."""
    module = request.module.__name__.rpartition(".")[2]
    if module not in SAID:
        yield
        return
    told = []

    def kept(function):
        def call(*words, **keys):
            report = function(*words, **keys)
            told.append(report)
            return report

        return call

    for name in ("verify", "prune"):
        monkeypatch.setattr(checkpoints, name, kept(getattr(checkpoints, name)))
    yield
    lines = [line for one in told for line in (*said.flat(about(one)), *said.lines(one.findings))]
    path = Path(__file__).parent / "said" / f"{module}.txt"
    said.hold(path, (line.replace(str(tmp_path), "") for line in lines))


def about(report) -> dict:
    """A report in one line, beside its findings. A link is as long as the path of the temporary folder."""
    left = ("findings", "path", "freed_bytes")
    data = {name: value for name, value in report.as_json().items() if name not in left}
    return {type(report).__name__: json.dumps(data, default=str)}


@pytest.fixture
def checkpoint(tmp_path):
    """A whole checkpoint-20, not yet written."""
    return Checkpoint(tmp_path / "run" / "checkpoint-20")


@pytest.fixture
def checkpoint_at():
    """checkpoint_at(path) is a whole checkpoint for that place, not yet written."""
    return Checkpoint


@pytest.fixture
def make(tmp_path):
    """make(step) writes a whole checkpoint of that step into one output folder, without a manifest."""

    def one(step: int, manifest: bool = False, **keys) -> Checkpoint:
        name = "" if step is None else f"checkpoint-{step}"
        made = Checkpoint(tmp_path / "run" / name, step=step or keys.pop("final", 0), **keys)
        return made.write(manifest=manifest)

    return one


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def raw():
    """The writer of safetensors bytes, for files that no `Checkpoint` would hold."""
    return safetensors


@pytest.fixture
def base_config():
    return dict(BASE_CONFIG)


@pytest.fixture
def shapes():
    return {name: list(shape) for name, shape in SHAPES.items()}


@pytest.fixture
def files_of():
    """Every path below a folder with its content (a link's target), to compare before and after."""

    def snapshot(folder) -> dict:
        seen = {}
        for root, folders, files in os.walk(folder):
            for name in [*folders, *files]:
                path = Path(root) / name
                if path.is_symlink():
                    seen[str(path)] = os.readlink(path)
                else:
                    seen[str(path)] = path.read_bytes() if path.is_file() else None
        return seen

    return snapshot
