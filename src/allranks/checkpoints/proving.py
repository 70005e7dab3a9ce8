"""Proves that a merged model is base + adapter: its files are read back, and the outputs are compared.

Two proofs, since each sees what the other cannot. `read_back` looks at every value on disk. Values that the
adapter does not change must be the base's, bit for bit; each changed value must be the nearest one of its type to
base + adapter. `compare` asks the libraries: PEFT's model of base and adapter, and transformers' of the merged
files, give the same logits.
"""

from __future__ import annotations

import gc
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from allranks.checkpoints.merging import COPY_BYTES, DTYPES, Merge, blocks, rows_of
from allranks.checkpoints.weights import Tensor, tensors_of

TOLERANCE = {"F64": 1e-4, "F32": 1e-4, "F16": 5e-3, "BF16": 4e-2}
"""‖logits of the merged - logits of base + adapter‖ / ‖logits of base + adapter‖, both computed in float32. Rounded
weights are off by up to half a unit in the last place (2^-9 in BF16, 2^-12 in F16, relative); random errors of that
size pass through some tens of layers and add up as their square root: about 16 times 2^-9 is 3 %."""

ROUTED_SHARE = 0.9
"""If two experts are nearly as good, rounded weights may choose the other one, and the logits there differ by more
than rounding. Few positions do. A model that is loaded wrongly differs everywhere."""

NEAREST = 0.5 + 2.0**-13
"""Units in the last place. torch rounds float64 to 16 bits by way of float32, whose last place is 2^-13 of an F16's."""

SHAPE = (2, 24)
"""Sequences and tokens that are compared."""


def read_back(
    merge: Merge, folder: str, files: Mapping[str, str], extra: Optional[str]
) -> Tuple[int, int, List[str]]:
    """(tensors as in the base, tensors changed, what is wrong). `files` is {the base's file: its name here}."""
    same, changed, wrong = 0, 0, []
    for name, path, tensor in _tensors(merge, folder, files, extra):
        edit = merge.edits.get(name)
        source, original = merge.place(name)
        if (tensor.dtype, tensor.shape) != (original.dtype, original.shape):
            wrong.append("%s has another type or shape" % name)
        elif edit is None:
            same += 1
            if not _equal(path, tensor, source, original):
                wrong.append("%s is not the base's" % name)
        else:
            changed += 1
            worst = _furthest(merge, name, path, tensor)
            if not worst <= NEAREST:
                wrong.append("%s is %.6g units in the last place from base + adapter" % (name, worst))
    expected = len(merge.base.places) + len(merge.untied)
    if same + changed + len(wrong) < expected:
        wrong.append("%d of %d tensors were written" % (same + changed, expected))
    return same, changed, wrong


def _tensors(
    merge: Merge, folder: str, files: Mapping[str, str], extra: Optional[str]
) -> Iterator[Tuple[str, str, Tensor]]:
    for name in [*files.values(), *([extra] if extra else [])]:
        path = os.path.join(folder, name)
        for tensor in tensors_of(path):
            yield tensor.name, path, tensor


def _equal(path: str, tensor: Tensor, source: str, original: Tensor) -> bool:
    with open(path, "rb") as new, open(source, "rb") as old:
        new.seek(tensor.begin)
        old.seek(original.begin)
        left = tensor.end - tensor.begin
        while left:
            here, there = new.read(min(left, COPY_BYTES)), old.read(min(left, COPY_BYTES))
            if here != there or not here:
                return False
            left -= len(here)
    return True


def _furthest(merge: Merge, name: str, path: str, tensor: Tensor) -> float:
    """The largest distance from base + adapter, in units of the value's last place; NaN is infinitely far. Other
    blocks than the writer's, so that a slip of theirs is seen."""
    import torch

    dtype = getattr(torch, DTYPES[tensor.dtype])
    info, furthest = torch.finfo(dtype), 0.0
    rows, columns = merge.matrix(name)
    fd = os.open(path, os.O_RDONLY)
    try:
        for first, end in blocks(rows, columns, 3 << 18):
            exact = merge.exact(merge.edits[name], first, end)
            written = rows_of(fd, tensor, first, end, columns).double()
            _, exponent = torch.frexp(exact)  # 0.5 ≤ mantissa < 1
            unit = torch.ldexp(torch.full_like(exact, info.eps / 2), exponent).clamp(min=info.tiny * info.eps)
            off = ((written - exact).abs() / unit).max() if exact.numel() else torch.zeros(())
            furthest = max(furthest, float(off)) if torch.isfinite(off) else float("inf")
    finally:
        os.close(fd)
    return furthest


# ---- the libraries' word ----


def compare(base: str, adapter: str, merged: str, dtype: str, seed: int = 0) -> Dict[str, Any]:
    """`{"difference", "effect", "tolerance", "same_choice"}`: relative to the logits of base + adapter, the distance
    of the merged model's and of the base's, what is allowed, and the share of positions with the same next token.

    One model at a time is in memory, in float32. If the model chooses among experts, the distance is the one that
    `ROUTED_SHARE` of the positions keep.
    """
    import torch
    from peft import PeftModel

    torch.manual_seed(seed)
    model = load(base)
    is_routed = any("expert" in key for key in vars(model.config.get_text_config()))
    tokens = torch.randint(0, int(model.config.get_text_config().vocab_size), SHAPE)
    with torch.no_grad():
        alone = model(input_ids=tokens).logits.double()
        both = PeftModel.from_pretrained(model, adapter, is_trainable=False).eval()
        wanted = both(input_ids=tokens).logits.double()
        del model, both
        gc.collect()
        found = load(merged)(input_ids=tokens).logits.double()
    size = float(wanted.norm())
    difference = float((found - wanted).norm()) / size
    if is_routed:
        each = (found - wanted).norm(dim=-1) / wanted.norm(dim=-1)
        difference = float(torch.quantile(each.flatten(), ROUTED_SHARE))
    return {
        "difference": difference,
        "effect": float((alone - wanted).norm()) / size,
        "tolerance": TOLERANCE[dtype],
        "same_choice": float((found.argmax(-1) == wanted.argmax(-1)).double().mean()),
    }


def load(path: str) -> Any:
    import torch
    import transformers

    key = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    options: Dict[str, Any] = {key: torch.float32}
    return transformers.AutoModelForCausalLM.from_pretrained(path, **options).eval()
