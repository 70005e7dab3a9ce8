"""The training software differs between nodes.

## How it is found
The versions of Python (3.x), torch (and the CUDA that it was built for), DeepSpeed, transformers, PEFT, accelerate,
LLaMA-Factory and the other packages that change what a rank computes or sends, on every node.

## Why it matters
Ranks run one program together. Another torch or NCCL refuses the connection or hangs in the first
collective; another transformers or PEFT builds other parameters, and ZeRO-3 then gathers tensors that do
not match.

## What to do
Install the same versions on every node, or use one environment for all: a container image by its digest,
or a folder on shared storage.

## Source
The packages' own metadata on each node. NCCL refuses peers of another version: NCCL 2.30, `bootstrap.cc`.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View, on_host
from allranks.checks.phrases import listed
from allranks.core.text import printable

NEEDS = ("software.versions", "software.python", "software.torch_cuda")
applies = on_host

DECISIVE = (
    *("torch", "deepspeed", "transformers", "peft", "accelerate", "llamafactory", "trl"),
    *("tokenizers", "safetensors", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13"),
    *("flash_attn", "bitsandbytes", "triton"),
)
"""These change what ranks build or send to each other; the rest is only worth a note."""

MINOR = ("datasets", "numpy", "tensorboard", "pyarrow", "huggingface_hub")


Package = tuple[str, str, str]
"""Its name, the node's version, and that of most nodes."""


def check(context: Context) -> Findings:
    for view, packages in differing(context, DECISIVE).items():
        # A package that is missing altogether is `package-missing`'s, if the run needs it.
        why = "ranks of different versions build different tensors or refuse each other in the first collective."
        yield context.block(view, **compared(view, packages), why=why)
    # A torch without CUDA is `torch-without-cuda`'s.
    with_cuda = [view for view in context.machines if view.text("software.torch_cuda")]
    for view, has, usual in context.odd_ones("software.torch_cuda", with_cuda):
        yield context.block(
            view,
            saw=f"{view.name} has a torch built for CUDA {printable(has, 40)}",
            expected=f"built for CUDA {printable(usual, 40)}, as on other nodes",
            why="another build of torch brings another NCCL, which may refuse the others.",
            fix=f"install the same torch on {view.name}, from the same index as elsewhere",
        )
    for view, packages in differing(context, MINOR).items():
        why = "ranks do not exchange these, but what a run computes may depend on the node that leads it."
        yield context.note(view, **compared(view, packages), why=why)


def compared(view: View, packages: list[Package]) -> dict[str, str]:
    fix = f"on {view.name}: pip install {' '.join(f'{name}=={usual}' for name, _, usual in packages)}"
    if any(name == "python" for name, _, _ in packages):
        fix = f"rebuild the environment of {view.name} with the same Python as on the other nodes"
    return {
        "saw": f"{view.name} has {listed(f'{name} {has}' for name, has, _ in packages)}",
        "expected": f"{listed(f'{name} {usual}' for name, _, usual in packages)}, as on other nodes",
        "fix": fix,
    }


def differing(context: Context, names: tuple[str, ...]) -> dict[View, list[Package]]:
    found: dict[View, list[Package]] = {}
    for name in names:
        for view, has, usual in context.odd_ones(f"software.versions.{name}"):
            if has is not None and usual is not None:
                found.setdefault(view, []).append((name, str(has), str(usual)))
    if names is DECISIVE:
        pythons = {v: (v.text("software.python.version") or "").rpartition(".")[0] for v in context.machines}
        known = [version for version in pythons.values() if version]
        usual = max(known, key=known.count, default="")
        for view, version in pythons.items():
            if version and version != usual:
                found.setdefault(view, []).append(("python", version, usual))
    return found
