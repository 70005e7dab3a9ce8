"""A base stored in fp8 with a scale for each block of a matrix (DeepSeek-V3's own release), read as bf16.

`X.weight` is stored as float8_e4m3fn [rows, columns], beside it `X.weight_scale_inv` as float32 with one value a block
of `weight_block_size`; a value is the product of the two (transformers' `Fp8Dequantize` computes the same, in float32).
"""

from __future__ import annotations

import copy
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from allranks.worker.weight_files import Files, Stored, memory_of

SUFFIX = "_scale_inv"
FP8 = "F8_E4M3"


class Blocks(NamedTuple):
    """Rows and columns of a block."""

    rows: int
    columns: int


class Scales:
    """The scales of a base that is stored in blocks of one size."""

    def __init__(self, files: Files, blocks: Blocks):
        self._files, self._blocks = files, blocks

    def belongs(self, name: str) -> bool:
        """Whether a stored tensor is the scales of another one."""
        return name.endswith(SUFFIX)

    def of(self, name: str) -> Optional[Stored]:
        """Where a tensor's scales are stored; None for a tensor that has none."""
        return self._files.tensors.get(name + SUFFIX)

    def check(self, name: str) -> None:
        """Raises ValueError if a tensor and its scales do not belong together."""
        place, scales = self._files.tensors[name], self.of(name)
        if scales is None:
            if place.dtype == FP8:
                raise ValueError("%s is stored in fp8 and has no scales" % name)
            return
        wanted = ()
        if len(place.shape) == 2:
            wanted = (-(-place.shape[0] // self._blocks.rows), -(-place.shape[1] // self._blocks.columns))
        if place.dtype != FP8 or scales.dtype != "F32" or scales.shape != wanted:
            raise ValueError("the scales of %s are %s%s" % (name, scales.dtype, list(scales.shape)))

    def multiply(self, name: str, first: int, values: Any) -> Any:
        """Values of a tensor from number `first` on, times their scales: float32."""
        import torch

        columns = self._files.tensors[name].shape[1]
        top, bottom = first // columns, (first + values.numel() - 1) // columns
        rows = torch.arange(top, bottom + 1) // self._blocks.rows
        wide = self._scales(name)[rows].repeat_interleave(self._blocks.columns, dim=1)[:, :columns]
        begin = first - top * columns
        return values.to(torch.float32).mul_(wide.reshape(-1)[begin : begin + values.numel()])

    def at(self, name: str, places: Any) -> Any:
        """The scale of each of a tensor's values, by its number: float32."""
        columns = self._files.tensors[name].shape[1]
        rows, across = places // columns, places % columns
        return self._scales(name)[rows // self._blocks.rows, across // self._blocks.columns]

    def _scales(self, name: str) -> Any:
        import torch

        place = self._files.tensors[name + SUFFIX]
        raw = torch.empty(place.bytes, dtype=torch.uint8)  # as partition_reading.plain_memory says
        self._files.read(name + SUFFIX, 0, memory_of(raw))
        return raw.view(torch.float32).view(place.shape)


def plain(quantizer: Any, config: Any) -> Optional[Tuple[Blocks, Any]]:
    """(blocks, the configuration of the model in bf16) for a base in fp8 that is about to be dequantized; else None."""
    told = getattr(quantizer, "quantization_config", None)
    method = getattr(told, "quant_method", None)
    if getattr(method, "value", method) != "fp8" or not getattr(quantizer, "pre_quantized", False):
        return None
    sizes = getattr(told, "weight_block_size", None)
    if not getattr(told, "dequantize", False) or not isinstance(sizes, (list, tuple)) or len(sizes) != 2:
        return None
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return None
    config = copy.deepcopy(config)
    del config.quantization_config
    return Blocks(*sizes), config


def names_with_scales(names: List[str], tensors: Dict[str, Stored]) -> List[str]:
    """These names, and those of their scales."""
    return [*names, *(name + SUFFIX for name in names if name + SUFFIX in tensors)]
