"""The versions of the training stack: by the nodes' facts or the container's pins, else as `make setup` installs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import Facts
from allranks.spec import Run

Version = tuple[int, ...]

OURS: Mapping[str, Version] = {"transformers": (5, 6, 0), "deepspeed": (0, 19, 8)}
"""What `make setup` installs: taken before a node was asked, if the run names neither a Python nor a container."""

SEQUENTIAL_GATHERS: Version = (0, 18, 5)
"""DeepSpeed from here on knows `stage3_allgather_sequential` (its pull request 7661)."""

HOLDS_RECOMPUTED: Version = (0, 19, 3)
"""DeepSpeed from here on keeps the frozen tensors that a recomputation gathers until the module then in backward
is done (its pull request 8148). Non-reentrant checkpointing of a frozen base fails before it."""


FLOAT32_ADAPTERS: Version = (0, 19, 2)
"""DeepSpeed from here on leaves float32 adapters of a 16-bit base float32; before, it made them 16 bits too
(huggingface/trl#6091; 0.18.9 and 0.19.8 were seen to do so)."""


@dataclass(frozen=True)
class Versions:
    """None if nobody knows (an image that nobody has looked into). What then depends on transformers is planned
    for both kinds (`plan/unknown_model.py`)."""

    transformers: Version | None
    deepspeed: Version | None

    @property
    def fused_experts(self) -> bool:
        """transformers ≥ 5 holds a layer's routed experts as two tensors; before, each was three Linears."""
        return self.transformers is None or self.transformers >= (5,)

    @property
    def float32_adapters(self) -> bool:
        return self.deepspeed is None or self.deepspeed >= FLOAT32_ADAPTERS

    @property
    def holds_recomputed(self) -> bool:
        return self.deepspeed is not None and self.deepspeed >= HOLDS_RECOMPUTED


def parse(text: Any) -> Version | None:
    """`535.161.08` → (535, 161, 8); `2.13.0+cpu` → (2, 13, 0); None for what does not begin with a number."""
    numbers = re.match(r"\s*v?(\d+(?:\.\d+)*)", text) if isinstance(text, str) else None
    return tuple(int(part) for part in numbers.group(1).split(".")) if numbers else None


def dotted(version: Version | None) -> str:
    return ".".join(map(str, version)) if version else "unknown"


def versions_of(run: Run, facts: Mapping[str, Facts] | None = None) -> Versions:
    return Versions(*(_one(run, facts or {}, name) for name in ("transformers", "deepspeed")))


def _one(run: Run, facts: Mapping[str, Facts], name: str) -> Version | None:
    # With a container, what a node says is about the host's Python. Inside, the run is judged without one.
    for node in run.cluster.nodes if run.container is None else ():
        told = facts[node.name].get(f"software.versions.{name}") if node.name in facts else None
        if parse(told):
            return parse(told)
    if run.container is None:
        is_ours = run.environment.python is None and run.environment.conda is None
        return OURS[name] if is_ours and not facts else None
    for requirement in run.container.pip:
        package, found, version = requirement.replace("~=", "==").partition("==")
        if found and package.strip().lower() == name:
            return parse(version)
    return None
