"""Covers what transformers and DeepSpeed load a model with, if the run asks for allranks' loader (`base_loading`)."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from typing import Any, Dict, Optional

from allranks.core.rank_events import CACHE_NOTE
from allranks.core.text import printable
from allranks.worker import block_scales, guard, zero_construction
from allranks.worker.base_loading import Attempt
from allranks.worker.block_scales import Scales
from allranks.worker.partition_plan import Doubt
from allranks.worker.rank_reporter import Rank
from allranks.worker.zero_construction import CONSTRUCTION

VARIABLE = "ALLRANKS_LOADER"
OWN, STOCK = "own", "stock"
NOTE_LENGTH = 1000
NOT_AT_IT = "loader stock: not every rank asked for its own bytes, or the model is not built under zero.Init"
NO_NAME = "loader own: no tensor in the files has a name that the model knows"
OF_NODES = "loader stock: with a second partition within each node (zero_hpz_partition_size) the ranks read everything"
KNOWN = frozenset({
    "GatheredParameters", "Module", "_apply_weight_conversions_to_state_dict", "_is_hf_initialized",
    "_load_from_state_dict", "_metadata", "_modules", "_weight_conversions", "append", "copy", "copy_",
    "deepspeed", "dict", "discard", "distributed", "get", "get_rank", "getattr",
    "is_deepspeed_zero3_enabled", "items", "keys", "len", "named_buffers", "named_parameters", "nn",
    "no_grad", "set", "startswith", "state_dict", "torch", "zero",
    # since 5.23 rank 0 sends the buffers
    "broadcast", "contiguous", "current_device_name", "deepspeed.accelerator", "dtype", "empty", "get_accelerator",
    "shape", "to",
})  # fmt: skip
"""The names that transformers' `_load_state_dict_into_zero3_model` may use; with any other name, `Loader` does not
take its place."""
ARGUMENTS = (), ("load_config",)
"""Its arguments after the model and the values: none since transformers 4.51, the configuration since 5.0."""


class Loader:
    """Covers transformers.modeling_utils. One attempt at a time; the library itself loads a model within a model."""

    def __init__(self, rank: Rank, module: Any):
        self.rank, self.module = rank, module
        self.attempt: Optional[Attempt] = None
        self.gives_buffers = False
        """Whether the library loads a buffer without the parameters of its module: since transformers 5.6."""

    def cover(self) -> None:
        module = self.module
        model = module.PreTrainedModel
        read, into = module.load_state_dict, module._load_state_dict_into_zero3_model
        if not names_of(into) <= KNOWN or tuple(inspect.signature(into).parameters)[2:] not in ARGUMENTS:
            self.note("loader stock: this version of transformers loads in a way not known here")
            return
        self.gives_buffers = "named_buffers" in names_of(into)
        pretrained = model.__dict__["from_pretrained"].__func__
        # Since 5.23 only rank 0 reads values. Before, a caller that asks for `meta` only wants to see the names.
        places = ("cpu", "meta") if "broadcast" in names_of(into) else ("cpu",)

        def load_state_dict(checkpoint_file: Any, *args: Any, **kwargs: Any) -> Any:
            attempt = self.active()
            place = kwargs.get("map_location", args[0] if args else "cpu")
            if (
                attempt is None and place != "meta"
            ):  # `meta`: only the type is asked for, before a model is built
                self.check_plain()
            if attempt is None or place not in places:
                return read(checkpoint_file, *args, **kwargs)
            return attempt.load_state_dict(checkpoint_file)

        def _load_state_dict_into_zero3_model(
            model_to_load: Any, state_dict: Any, *load_config: Any, **named: Any
        ) -> Any:
            attempt = self.active()
            if attempt is None:
                self.check_plain()
                return into(model_to_load, state_dict, *load_config, **named)
            return attempt.load_into(into, model_to_load, state_dict, *load_config, *named.values())

        def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return self.from_pretrained(pretrained, cls, args, kwargs)

        if hasattr(module, "get_hf_quantizer"):
            module.get_hf_quantizer = self.without_quantizer(module.get_hf_quantizer)
        module.load_state_dict = guard.dressed(load_state_dict, read)
        module._load_state_dict_into_zero3_model = guard.dressed(_load_state_dict_into_zero3_model, into)
        model.from_pretrained = classmethod(guard.dressed(from_pretrained, pretrained))

    def note(self, text: str) -> None:
        """Told with the settings, and in the rank's log."""
        text = printable(text, NOTE_LENGTH)
        self.rank.notes.append(text)
        sys.stderr.write("allranks: %s\n" % text)

    def without_quantizer(self, original: Any) -> Any:
        """transformers' `get_hf_quantizer`: a base in fp8 that is to be dequantized is a model in bf16 from here on."""

        def get_hf_quantizer(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            attempt = self.attempt
            if attempt is None or attempt.depth != 1 or not isinstance(result, tuple) or len(result) != 3:
                return result
            found = block_scales.plain(result[0], result[1])
            if found is None:
                return result
            attempt.scales = Scales(attempt.files, found[0])
            return None, found[1], result[2]

        return guard.dressed(get_hf_quantizer, original)

    def check_plain(self) -> None:
        """Raises Doubt if the model was built in bf16 for a base in fp8 and the library is about to read it."""
        if self.attempt is not None and self.attempt.scales is not None:
            raise Doubt("some ranks do not load their own bytes")

    def active(self) -> Optional[Attempt]:
        """The attempt, if all ranks are at one, and no model within the model is loading."""
        attempt = self.attempt
        return attempt if attempt is not None and attempt.depth == 1 and CONSTRUCTION.is_agreed else None

    def from_pretrained(self, original: Any, cls: Any, args: Any, kwargs: Any) -> Any:
        if self.attempt is not None:
            self.attempt.depth += 1
            self.attempt.doubt = "a model that loads another one"
            try:
                return original(cls, *args, **kwargs)
            finally:
                self.attempt.depth -= 1
        if not self.is_due(kwargs):
            return original(cls, *args, **kwargs)
        if has_second_partition():
            self.note(OF_NODES)
            return original(cls, *args, **kwargs)
        attempt, loaded = Attempt(self.rank, self.gives_buffers), None
        try:
            self.attempt = attempt
            with CONSTRUCTION.skipping():
                loaded = original(cls, *args, **kwargs)
                attempt.check_given(loaded)
            self.rank.notes.extend(CACHE_NOTE + text for text in attempt.cached.unused)
            counted = attempt.own_count or attempt.stock_count
            self.note(attempt.note if counted else NO_NAME if attempt.files.paths else NOT_AT_IT)
            return loaded
        except Doubt as doubt:
            why, loaded = str(doubt), None
        finally:
            self.attempt = None
            attempt.files.close()
        self.note("loader stock: %s" % why)
        zero_construction.set_random_states(attempt.random)
        gc.collect()  # the first model's parts are parts of cycles, and there may not be room for two
        return original(cls, *args, **kwargs)

    def is_due(self, kwargs: Dict[str, Any]) -> bool:
        """The same on every rank, since it depends only on the script's arguments."""
        return (
            os.environ.get(VARIABLE, STOCK) == OWN
            and bool(self.module.is_deepspeed_zero3_enabled())
            and kwargs.get("state_dict") is None
            and kwargs.get("gguf_file") is None
        )


def has_second_partition() -> bool:
    """Whether DeepSpeed keeps each parameter once more within each node (ZeRO++, hpZ). It makes the group for that only
    once, so that a model could not be built again."""
    module = sys.modules.get("transformers.integrations.deepspeed")
    config = module.deepspeed_config() if module is not None else None
    told = (config or {}).get("zero_optimization") or {}
    return isinstance(told, dict) and str(told.get("zero_hpz_partition_size", 1)) not in ("0", "1")


def names_of(function: Any) -> set:
    """The names that a function uses of others, and all functions and comprehensions inside it: since Python 3.12 a
    comprehension is a part of the function around it."""
    found, codes = set(), [function.__code__]
    while codes:
        code = codes.pop()
        found.update(code.co_names)
        codes += [inner for inner in code.co_consts if hasattr(inner, "co_names")]
    return found


def install(rank: Rank, module: Any) -> None:
    """transformers.modeling_utils has come."""
    if os.environ.get(VARIABLE, STOCK) != OWN:
        return
    wanted = ("load_state_dict", "_load_state_dict_into_zero3_model", "is_deepspeed_zero3_enabled")
    if not all(hasattr(module, name) for name in wanted):
        rank.notes.append("loader stock: this version of transformers loads in a way not known here")
        return
    Loader(rank, module).cover()


def on_partitioning(rank: Rank, module: Any) -> None:
    """deepspeed.runtime.zero.partition_parameters has come."""
    if os.environ.get(VARIABLE, STOCK) == OWN:
        CONSTRUCTION.cover(module)
