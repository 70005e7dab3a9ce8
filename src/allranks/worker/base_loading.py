"""`from_pretrained` under ZeRO-3, with each rank reading only its own bytes of the base model.

The library builds its model and calls its own functions in their order; two of them act differently for the time of
one `from_pretrained`: reading a file gives tensors without values that know where they are stored
(`tensor_origin`), and loading them into the model reads this rank's parts (`partition_plan`, `partition_reading`).
What is no plain sequence of stored values goes through the library's function as ever.

A doubt, of any rank, before a value was read: all ranks begin anew in the library's own way. A file that cannot be
right, before or while it is read: the same error on every rank. Ranks tell each other before and after, so none waits
for one that left.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Dict, List, Optional, Tuple

from allranks.core.rank_events import BASE_BYTES
from allranks.worker import collective, guard, partition_plan, partition_reading, tensor_origin
from allranks.worker.partition_plan import Doubt, Plan
from allranks.worker.rank_reporter import Rank
from allranks.worker.weight_files import CannotRead, Files
from allranks.worker.zero_construction import CONSTRUCTION

VARIABLE = "ALLRANKS_LOADER"
OWN, STOCK = "own", "stock"
ANSWER_BYTES = 1024
STOCK_BYTES = 512 << 20
"""Of stored tensors that the library's own function gets at a time."""
KNOWN = frozenset({
    "GatheredParameters", "Module", "_apply_weight_conversions_to_state_dict", "_is_hf_initialized",
    "_load_from_state_dict", "_metadata", "_modules", "_weight_conversions", "append", "copy", "copy_",
    "deepspeed", "dict", "discard", "distributed", "get", "get_rank", "getattr",
    "is_deepspeed_zero3_enabled", "items", "keys", "len", "named_buffers", "named_parameters", "nn",
    "no_grad", "set", "state_dict", "torch", "zero",
})  # fmt: skip
"""What transformers' `_load_state_dict_into_zero3_model` may do, if what stands here can take its place."""


class BaseUnreadable(RuntimeError):
    """The base model's files are damaged, or not the same on every node. Raised on every rank."""


class Attempt:
    """One `from_pretrained` of ours."""

    def __init__(self, rank: Rank, module: Any):
        import torch

        self.rank, self.module, self.torch = rank, module, torch
        self.files = Files()
        self.trace = tensor_origin.tracer(torch)
        self.depth = 1
        self.doubt: Optional[str] = None
        self.fault: Optional[str] = None
        self.random = torch.get_rng_state()
        self.done_bytes, self.total_bytes, self.began = 0, 0, 0.0

    # -- in place of transformers' functions --

    def load_state_dict(self, path: Any) -> Dict[str, Any]:
        """One file's tensors, without values. What is wrong with it is told later, when all ranks speak."""
        if not str(path).endswith(".safetensors"):
            self.doubt = "%s is no safetensors file" % os.path.basename(str(path))
            return {}
        try:
            names = self.files.add(str(path))
            return {name: self.traced(name) for name in names}
        except CannotRead as error:
            self.fault = str(error)
        except Exception as error:
            self.doubt = "%s: %s" % (type(error).__name__, error)
        return {}

    def traced(self, name: str) -> Any:
        place = self.files.tensors[name]
        dtype = partition_reading.dtype_of(self.torch, place.dtype)
        if dtype is None:
            raise Doubt("%s is stored as %s" % (name, place.dtype))
        return self.trace(name, place.shape, dtype)

    def load_into(self, original: Any, model: Any, tensors: Dict[str, Any], config: Any) -> Any:
        """In place of `_load_state_dict_into_zero3_model`, whose result it gives. Raises Doubt and BaseUnreadable."""
        self.rank.shards = None  # the headers are read; from here on bytes count
        plan = self.agreed_plan(model, tensors, config)
        self.began = time.monotonic()
        progress, self.rank.progress = self.rank.progress, self.progress
        try:
            fault = self.fill(plan)
        finally:
            self.rank.progress = progress
        self.check_all(fault)
        return self.load_others(original, model, plan, config)

    # -- what the ranks agree on --

    def agreed_plan(self, model: Any, tensors: Dict[str, Any], config: Any) -> Plan:
        plan, told = None, {"host": socket.gethostname()[:60]}
        try:
            if self.doubt is None and self.fault is None:
                plan = self.plan(model, tensors, config)
                told.update(plan=plan.digest, content=self.files.sample())
        except CannotRead as error:
            self.fault = str(error)
        except Exception as error:  # Doubt, and whatever else is not as it is expected here
            self.doubt = str(error) if isinstance(error, Doubt) else "%s: %s" % (type(error).__name__, error)
        if self.fault is not None:
            told["fault"] = self.fault[:400]
        elif self.doubt is not None:
            told["doubt"] = self.doubt[:400]
        answers = collective.texts_of_all(told, ANSWER_BYTES)
        raise_faults(answers)
        for number, answer in enumerate(answers):
            if "doubt" in answer:
                raise Doubt("rank %d: %s" % (number, answer["doubt"]))
        first = answers[0]
        for number, answer in enumerate(answers):
            if answer.get("content") != first.get("content"):
                text = "The base model that rank %d reads (%s) is not the one that rank 0 reads (%s): its files differ."
                raise BaseUnreadable(text % (number, answer.get("host"), first.get("host")))
            if answer.get("plan") != first.get("plan"):
                raise Doubt("rank %d would lay the model out in another way than rank 0" % number)
        if plan is None:
            raise Doubt("this rank has no plan")
        return plan

    def check_all(self, fault: Optional[str]) -> None:
        """After reading: every rank's fault on every rank."""
        told = {"host": socket.gethostname()[:60]}
        if fault is not None:
            told["fault"] = fault[:400]
        raise_faults(collective.texts_of_all(told, ANSWER_BYTES))

    # -- this rank's own work --

    def plan(self, model: Any, tensors: Dict[str, Any], config: Any) -> Plan:
        found = converted(self.module, model, tensors, getattr(config, "weight_mapping", None))
        known = set(model.state_dict())
        known.update(name for name, _ in model.named_buffers())
        found = {name: tensor for name, tensor in found.items() if name in known}
        plan = partition_plan.plan(model, found, self.files, group_of)
        tied = set(getattr(model, "all_tied_weights_keys", None) or {})
        left = [name for name, _ in model.named_parameters() if name not in found and name not in tied]
        if left and not self.torch.equal(self.random, self.torch.get_rng_state()):
            raise Doubt("%s is not in the files, and the model draws random numbers itself" % left[0])
        return plan

    def fill(self, plan: Plan) -> Optional[str]:
        """Reads this rank's bytes; what went wrong, or None."""
        tensors = self.files.tensors
        try:
            self.total_bytes = sum(
                stretch.length * partition_reading.ITEM_BYTES[tensors[stretch.name].dtype]
                for one in plan.own
                for stretch in one.stretches
            )
            for one in plan.own:
                partition_reading.fill(one, self.files, self.tell)
                one.parameter._is_hf_initialized = True
            partition_reading.compare_samples(plan.own, self.files)
            self.files.check_unchanged()
        except Exception as error:
            return str(error) if isinstance(error, CannotRead) else "%s: %s" % (type(error).__name__, error)
        return None

    def tell(self, count: int) -> None:
        self.done_bytes += count

    def progress(self) -> Dict[str, Any]:
        return {"what": BASE_BYTES, "done": self.done_bytes, "total": self.total_bytes}

    def load_others(self, original: Any, model: Any, plan: Plan, config: Any) -> Any:
        """What is no plain sequence goes through the library's function, STOCK_BYTES at a time."""
        errors: List[str] = []
        missing: Optional[set] = None
        for names in self.batches(plan):
            real = {name: self.stored(name) for name in names}
            found, left = original(model, real, config)
            errors.extend(found)
            missing = set(left) if missing is None else missing & set(left)
        seconds = time.monotonic() - self.began
        self.rank.notes.append(
            "loader own: read %s bytes of the base in %.1f s; %d parameters its own part, %d tensors the stock way"
            % (format(self.done_bytes, ","), seconds, len(plan.own), len(plan.stock))
        )
        return errors, (missing or set()) - plan.filled

    def batches(self, plan: Plan) -> List[List[str]]:
        """At least one, so that the library does what it does besides."""
        found: List[List[str]] = [[]]
        size = 0
        for names in plan.stock.values():
            more = sum(self.files.tensors[name].bytes for name in names)
            if found[-1] and size + more > STOCK_BYTES:
                found.append([])
                size = 0
            found[-1].extend(sorted(names))
            size += more
        return found

    def stored(self, name: str) -> Any:
        from safetensors import safe_open

        with safe_open(self.files.paths[self.files.tensors[name].file], framework="pt") as file:
            return file.get_tensor(name)


def raise_faults(answers: List[Dict[str, Any]]) -> None:
    for number, answer in enumerate(answers):
        if "fault" in answer:
            raise BaseUnreadable(
                "Rank %d (%s) cannot read the base model: %s." % (number, answer.get("host"), answer["fault"])
            )


def group_of(parameter: Any) -> Tuple[int, int]:
    """(rank, ranks) in the group that a parameter is cut over."""
    from torch import distributed

    group = getattr(parameter, "ds_process_group", None)
    return distributed.get_rank(group), distributed.get_world_size(group)


def converted(module: Any, model: Any, tensors: Dict[str, Any], mapping: Any) -> Dict[str, Any]:
    """The tensors by the model's own names, stacked and joined as transformers does it, prefix included."""
    if mapping:
        from transformers.integrations import deepspeed

        tensors = deepspeed._apply_weight_conversions_to_state_dict(model, dict(tensors), mapping)
    prefix, known = getattr(model, "base_model_prefix", None), model.state_dict()
    return {
        ("%s.%s" % (prefix, name) if known.get("%s.%s" % (prefix, name)) is not None else name): tensor
        for name, tensor in tensors.items()
    }


class Loader:
    """Covers transformers.modeling_utils. One attempt at a time; a model within a model is the library's."""

    def __init__(self, rank: Rank, module: Any):
        self.rank, self.module = rank, module
        self.attempt: Optional[Attempt] = None

    def cover(self) -> None:
        module = self.module
        model = module.PreTrainedModel
        read, into = module.load_state_dict, module._load_state_dict_into_zero3_model
        if not names_of(into) <= KNOWN:
            self.rank.notes.append("loader stock: this version of transformers loads in a way not known here")
            return
        pretrained = model.__dict__["from_pretrained"].__func__

        def load_state_dict(checkpoint_file: Any, *args: Any, **kwargs: Any) -> Any:
            attempt = self.active()
            place = kwargs.get("map_location", args[0] if args else "cpu")
            if attempt is None or place != "cpu":
                return read(checkpoint_file, *args, **kwargs)
            return attempt.load_state_dict(checkpoint_file)

        def _load_state_dict_into_zero3_model(
            model_to_load: Any, state_dict: Any, load_config: Any = None
        ) -> Any:
            attempt = self.active()
            if attempt is None:
                return into(model_to_load, state_dict, load_config)
            return attempt.load_into(into, model_to_load, state_dict, load_config)

        def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return self.from_pretrained(pretrained, cls, args, kwargs)

        module.load_state_dict = guard.dressed(load_state_dict, read)
        module._load_state_dict_into_zero3_model = guard.dressed(_load_state_dict_into_zero3_model, into)
        model.from_pretrained = classmethod(guard.dressed(from_pretrained, pretrained))

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
        attempt = Attempt(self.rank, self.module)
        try:
            self.attempt = attempt
            with CONSTRUCTION.skipping():
                return original(cls, *args, **kwargs)
        except Doubt as doubt:
            why = str(doubt)
        finally:
            self.attempt = None
            attempt.files.close()
        self.rank.notes.append("loader stock: %s" % why)
        attempt.torch.set_rng_state(attempt.random)
        return original(cls, *args, **kwargs)

    def is_due(self, kwargs: Dict[str, Any]) -> bool:
        """Alike on every rank, since it asks only what the script said."""
        return (
            os.environ.get(VARIABLE, STOCK) == OWN
            and bool(self.module.is_deepspeed_zero3_enabled())
            and kwargs.get("state_dict") is None
            and kwargs.get("gguf_file") is None
            and kwargs.get("quantization_config") is None
        )


def names_of(function: Any) -> set:
    """The names that a function and the functions inside it use of others."""
    code, found = function.__code__, set(function.__code__.co_names)
    for inner in code.co_consts:
        found.update(getattr(inner, "co_names", ()))
    return found


def install(rank: Rank, module: Any) -> None:
    """transformers.modeling_utils has come."""
    if os.environ.get(VARIABLE, STOCK) != OWN:
        return
    wanted = ("load_state_dict", "_load_state_dict_into_zero3_model", "is_deepspeed_zero3_enabled")
    if not all(hasattr(module, name) for name in wanted) or not hasattr(
        module.PreTrainedModel, "get_init_context"
    ):
        rank.notes.append("loader stock: this version of transformers loads in a way not known here")
        return
    Loader(rank, module).cover()


def on_partitioning(rank: Rank, module: Any) -> None:
    """deepspeed.runtime.zero.partition_parameters has come."""
    if os.environ.get(VARIABLE, STOCK) == OWN:
        CONSTRUCTION.cover(module)
