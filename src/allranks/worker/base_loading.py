"""`from_pretrained` under ZeRO-3, with each rank reading only its own bytes of the base model.

The library builds its model and calls its own functions in their order; two of them act differently for the time of
one `from_pretrained`: reading a file gives tensors without values that know where they are stored
(`tensor_origin`), and loading them into the model reads this rank's parts (`partition_plan`, `partition_reading`).
A parameter that is not a plain sequence of stored values goes through the library's function as usual.

If any rank has a doubt before a value is read, all ranks begin again in the library's own way. If a file is wrong,
before or while it is read, every rank raises the same error. Ranks inform each other before and after, so that none
waits for one that left.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from allranks.core.rank_events import BASE_BYTES
from allranks.core.text import printable
from allranks.worker import (
    block_scales,
    collective,
    partition_plan,
    partition_reading,
    tensor_origin,
    zero_construction,
)
from allranks.worker.block_scales import Scales
from allranks.worker.byte_origin import ByteOrigin
from allranks.worker.cached_reading import CACHE, CachedReading
from allranks.worker.partition_plan import Doubt, Plan
from allranks.worker.rank_reporter import Rank
from allranks.worker.weight_files import CannotRead, Files
from allranks.worker.zero_construction import CONSTRUCTION

ANSWER_BYTES = 1024
SAID_LENGTH = 400
STOCK_BYTES = 512 << 20
"""Of stored tensors that the library's own function gets at a time."""

MORE_FILES = "one of them has more files"
"""transformers 4 loads file by file: a rank may be at its end while another has one more."""


class BaseUnreadable(RuntimeError):
    """The base model's files are damaged, or not the same on every node. Raised on every rank."""


class Attempt:
    """One `from_pretrained` with allranks' functions in the place of the library's."""

    def __init__(self, rank: Rank, gives_buffers: bool):
        """`gives_buffers`: the library loads a buffer without the parameters of its module."""
        import torch

        self.rank, self.torch, self.gives_buffers = rank, torch, gives_buffers
        self.files = Files()
        self.trace = tensor_origin.tracer(torch)
        self.depth = 1
        self.doubt: Optional[str] = None
        self.fault: Optional[str] = None
        self.random = zero_construction.random_states()
        self.done_bytes, self.total_bytes, self.seconds = 0, 0, 0.0
        self.origin = ByteOrigin()
        self.cached = CachedReading(self.files, rank.place)
        self.content = ""
        self.own_count, self.stock_count = 0, 0
        self.unknown: List[str] = []
        """Tensors of the files whose type torch does not know."""
        self.scales: Optional[Scales] = None
        """Of a base in fp8 whose model is built in bf16."""

    # -- in place of transformers' functions --

    def load_state_dict(self, path: Any) -> Dict[str, Any]:
        """One file's tensors, without values. A fault of the file is reported later, when all ranks exchange
        theirs."""
        if not str(path).endswith(".safetensors"):
            self.doubt = "%s is not a safetensors file" % os.path.basename(str(path))
            return {}
        try:
            names = self.files.add(str(path))
            return {
                name: self.traced(name) for name in names if not self.is_scale(name) and self.is_known(name)
            }
        except CannotRead as error:
            self.fault = told_as(error)
        except Exception as error:
            self.doubt = told_as(error)
        return {}

    def is_known(self, name: str) -> bool:
        """Whether torch has the type that this tensor is stored as. If it has not, the model may not want it."""
        is_known = partition_reading.dtype_of(self.torch, self.files.tensors[name].dtype) is not None
        if not is_known:
            self.unknown.append(name)
        return is_known

    def traced(self, name: str) -> Any:
        place = self.files.tensors[name]
        dtype = partition_reading.dtype_of(self.torch, place.dtype)
        if self.scales is not None and place.dtype == block_scales.FP8:
            dtype = self.torch.bfloat16
        return self.trace(name, place.shape, dtype)

    def is_scale(self, name: str) -> bool:
        return self.scales is not None and self.scales.belongs(name)

    def load_into(self, original: Any, model: Any, tensors: Dict[str, Any], *config: Any) -> Any:
        """In place of `_load_state_dict_into_zero3_model`, whose result it gives: transformers 5 calls it once for all
        files, with its configuration, transformers 4 for each file. Raises Doubt and BaseUnreadable."""
        if config:
            self.rank.shards = None  # the headers are read; from here on bytes count
        plan = self.agreed_plan(model, tensors, *config)
        began = time.monotonic()
        progress, self.rank.progress = self.rank.progress, self.progress
        try:
            fault = self.fill(plan)
        finally:
            self.rank.progress = progress
            self.seconds += time.monotonic() - began
        self.check_all(fault)
        self.own_count += len(plan.own)
        self.stock_count += len(plan.stock)
        CONSTRUCTION.were_given(one.parameter for one in plan.own)
        result = self.load_others(original, model, plan, *config)
        every = model.named_parameters(remove_duplicate=False)
        CONSTRUCTION.were_given(one for name, one in every if name in plan.stock)
        return result

    @property
    def note(self) -> str:
        text = "loader own: read %s bytes of the base in %.2f s; %d parameters its own part, %d tensors the stock way"
        text %= (format(self.done_bytes, ","), self.seconds, self.own_count, self.stock_count)
        return "; ".join([text, *self.cached.notes])

    # -- what the ranks agree on --

    def agreed_plan(self, model: Any, tensors: Dict[str, Any], *config: Any) -> Plan:
        plan, told = None, {"host": socket.gethostname()[:60]}
        try:
            told["outline"] = partition_plan.outline(model)
            if self.doubt is None and self.fault is None:
                plan = self.plan(model, tensors, *config)
                self.content = self.files.sample(self.stored_names(tensors))
                told.update(plan=plan.digest, content=self.content)
        except CannotRead as error:
            self.fault = told_as(error)
        except Exception as error:  # Doubt, and whatever else is not as it is expected here
            self.doubt = told_as(error)
        if self.fault is not None:
            told["fault"] = self.fault
        elif self.doubt is not None:
            told["doubt"] = self.doubt
        answers = collective.texts_of_all(told, ANSWER_BYTES)
        raise_other_models(answers, "end", MORE_FILES)
        raise_faults(answers)
        raise_other_models(answers, "outline", "its config.json or its libraries build other parameters")
        for number, answer in enumerate(answers):
            if "doubt" in answer:
                raise Doubt("rank %d: %s" % (number, answer["doubt"]))
        raise_other_models(answers, "content", "its files differ")
        for number, answer in enumerate(answers):
            if answer.get("plan") != answers[0].get("plan"):
                raise Doubt("rank %d would lay the model out in another way than rank 0" % number)
        if plan is None:
            raise Doubt("this rank has no plan")
        return plan

    def stored_names(self, tensors: Dict[str, Any]) -> List[str]:
        """The names in the files of all that these tensors are made of, with their scales."""
        names = sorted({name for tensor in tensors.values() for name in tensor.names})
        if self.scales is None:
            return names
        for name in names:
            self.scales.check(name)
        return block_scales.names_with_scales(names, self.files.tensors)

    def check_all(self, fault: Optional[str]) -> None:
        """After reading: every rank's fault on every rank."""
        told = {"host": socket.gethostname()[:60]}
        if fault is not None:
            told["fault"] = fault
        raise_faults(collective.texts_of_all(told, ANSWER_BYTES))

    def check_given(self, loaded: Any) -> None:
        """At the end, on all ranks. Raises Doubt if a parameter was left blank and no file had its values."""
        if not CONSTRUCTION.is_agreed:
            return
        left = CONSTRUCTION.left_blank(loaded[0] if isinstance(loaded, tuple) else loaded)
        told = {"host": socket.gethostname()[:60], "left": printable(left or "", SAID_LENGTH), "end": True}
        answers = collective.texts_of_all(told, ANSWER_BYTES)
        raise_other_models(answers, "end", MORE_FILES)
        for answer in answers:
            if answer["left"]:
                raise Doubt("%s is not in the files" % answer["left"])

    # -- this rank's own work --

    def plan(self, model: Any, tensors: Dict[str, Any], *config: Any) -> Plan:
        if CONSTRUCTION.was_asked:
            raise Doubt("the model's code looks at its weights before they are read")
        if config:
            tensors = converted(model, tensors, getattr(config[0], "weight_mapping", None))
        known = set(model.state_dict())
        known.update(name for name, _ in model.named_buffers())
        if not config:  # transformers 4 goes by the parameters, of which a model may save fewer
            known.update(name for name, _ in model.named_parameters(remove_duplicate=False))
        found = {name: tensor for name, tensor in tensors.items() if name in known}
        special = partition_plan.names_of_special_modules(model)
        if not self.gives_buffers:
            special |= partition_plan.modules_with_buffers(model, found)
        plan = partition_plan.plan(model, found, self.files, group_of, special)
        tied = set(getattr(model, "all_tied_weights_keys", None) or {})
        left = {name: one for name, one in model.named_parameters() if name not in found and name not in tied}
        wants = near(left, getattr(model, "base_model_prefix", ""))
        for name in self.unknown:
            if name in known or wants(name):
                raise Doubt("%s is stored as %s" % (name, self.files.tensors[name].dtype))
        if left and config:  # else the library goes on with random values, and a warning
            self.files.check_index(wants)
            blank = [name for name, one in left.items() if CONSTRUCTION.is_blank(one)]
            if blank:  # only the library makes values for what is in no file
                raise Doubt("%s is not in the files" % blank[0])
        if not config:
            check_whole(plan)
        # One file of several: the other tensors are not known.
        if CONSTRUCTION.draws and (not config or CONSTRUCTION.may_have_drawn(model, left)):
            raise Doubt("the model draws random numbers itself, and not all of it is in the files")
        return plan

    def fill(self, plan: Plan) -> Optional[str]:
        """Reads this rank's bytes; what went wrong, or None."""
        try:
            self.total_bytes += partition_reading.bytes_of(plan.own, self.files)
            self.cached.fill(plan, self.content, self.scales, self.tell)
            for one in plan.own:
                one.parameter._is_hf_initialized = True
                if one.parameter.dtype != one.part.dtype:
                    # Of what stands for the whole: a gather would correct it.
                    none = self.torch.empty(0, dtype=self.torch.uint8, device=one.parameter.device)
                    one.parameter.data = none.view(one.part.dtype)
            self.files.check_unchanged()
        except Exception as error:
            return told_as(error)
        return None

    def tell(self, count: int) -> None:
        self.done_bytes += count

    def progress(self) -> Dict[str, Any]:
        told: Dict[str, Any] = {"what": BASE_BYTES, "done": self.done_bytes, "total": self.total_bytes}
        told["source"] = CACHE if self.cached.is_in_use else self.origin.source(self.done_bytes)
        if self.files.retries:
            told.update(retries=self.files.retries, error=self.files.error)
        return told

    def load_others(self, original: Any, model: Any, plan: Plan, *config: Any) -> Any:
        """Parameters that are not a plain sequence go through the library's function, about STOCK_BYTES at a time."""
        results = []
        for batch in self.batches(plan, bool(config)):
            tensors: Dict[str, Any] = {}
            fault = None
            try:
                tensors = {name: self.stored(stored) for name, stored in batch.items()}
                self.files.check_unchanged()
            except Exception as error:
                fault = told_as(error)
            if batch:
                self.check_all(fault)
            results.append(original(model, tensors, *config))
        if not config:
            return [error for errors in results for error in errors]
        missing = set(results[0][1]).intersection(*(left for _, left in results))
        return [error for errors, _ in results for error in errors], missing - plan.filled

    def batches(self, plan: Plan, converts: bool) -> List[Dict[str, str]]:
        """{name that the library's function knows: stored name}, those of one module together. If it `converts`, it
        knows the stored names (transformers 5), else the model's (transformers 4). At least one batch, so that the
        library does what it does besides."""
        modules: Dict[str, Dict[str, str]] = {}
        for name in sorted(plan.stock):
            for stored in sorted(plan.stock[name]):
                modules.setdefault(name.rpartition(".")[0], {})[stored if converts else name] = stored
        found: List[Dict[str, str]] = [{}]
        size = 0
        for names in modules.values():
            more = sum(self.files.tensors[stored].bytes for stored in names.values())
            if found[-1] and size + more > STOCK_BYTES:
                found.append({})
                size = 0
            found[-1].update(names)
            size += more
        return found

    def stored(self, name: str) -> Any:
        from safetensors import safe_open

        with safe_open(self.files.paths[self.files.tensors[name].file], framework="pt") as file:
            tensor = file.get_tensor(name)
        if self.scales is not None and self.scales.of(name) is not None:
            return (
                self.scales.multiply(name, 0, tensor.reshape(-1))
                .reshape(tensor.shape)
                .to(self.torch.bfloat16)
            )
        return tensor


def told_as(error: Exception) -> str:
    """An error as one printable line. Names and types in it come from files that somebody else wrote."""
    known = isinstance(error, (CannotRead, Doubt))
    return printable(str(error) if known else "%s: %s" % (type(error).__name__, error), SAID_LENGTH)


def near(left: Iterable[str], prefix: str) -> Callable[[str], bool]:
    """Whether a stored name may be a part of one of these parameters: it is of the same module, or of one inside, also
    if a conversion joins several or gives them other names."""
    start = prefix + "."

    def bare(name: str) -> str:
        return name[len(start) :] if prefix and name.startswith(start) else name

    modules = {bare(name).rpartition(".")[0] or bare(name) for name in left}

    def is_near(name: str) -> bool:
        parts = bare(name).split(".")
        return any(".".join(parts[:count]) in modules for count in range(1, len(parts) + 1))

    return is_near


def check_whole(plan: Plan) -> None:
    """transformers 4 gives its function each tensor by the model's name. Raises Doubt if one that goes through it is
    not exactly one stored tensor."""
    for name, stored in plan.stock.items():
        if len(stored) != 1:
            raise Doubt("%s is made of %d stored tensors" % (name, len(stored)))


def raise_faults(answers: List[Dict[str, Any]]) -> None:
    for number, answer in enumerate(answers):
        if "fault" in answer:
            raise BaseUnreadable(
                "Rank %d (%s) cannot read the base model: %s." % (number, answer.get("host"), answer["fault"])
            )


def raise_other_models(answers: List[Dict[str, Any]], what: str, why: str) -> None:
    """Raises BaseUnreadable if a rank's answer differs from rank 0's. The stock way compares nothing: it would train
    from rank 0's files, or gather parameters that other ranks do not have."""
    first = answers[0]
    for number, answer in enumerate(answers):
        if answer.get(what) != first.get(what):
            text = "The base model that rank %d reads (%s) is not the one that rank 0 reads (%s): %s."
            raise BaseUnreadable(text % (number, answer.get("host"), first.get("host"), why))


def group_of(parameter: Any) -> Tuple[int, int]:
    """(rank, ranks) in the group that a parameter is cut over."""
    from torch import distributed

    group = getattr(parameter, "ds_process_group", None)
    return distributed.get_rank(group), distributed.get_world_size(group)


def converted(model: Any, tensors: Dict[str, Any], mapping: Any) -> Dict[str, Any]:
    """The tensors by the model's own names, stacked and joined as transformers 5 does it, prefix included."""
    if mapping:
        from transformers.integrations import deepspeed

        found: Any = deepspeed._apply_weight_conversions_to_state_dict(model, dict(tensors), mapping)
        if not isinstance(found, dict):  # since 5.23 one dictionary for each conversion
            found = {name: tensor for one in found for name, tensor in one.items()}
        tensors = found
    prefix, known = getattr(model, "base_model_prefix", None), model.state_dict()
    return {
        ("%s.%s" % (prefix, name) if known.get("%s.%s" % (prefix, name)) is not None else name): tensor
        for name, tensor in tensors.items()
    }
