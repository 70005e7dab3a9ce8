"""A model built under `zero.Init` whose parameters are about to be read: rank 0's values of them are not needed.

DeepSpeed sends every parameter from rank 0 to all ranks as soon as it is made, so the network carries the model once
before a file is opened. While `skipping`, each rank cuts its own, and the values come from the files. The part of a
large parameter is not even copied from the values that it was made with: it is `blank` until it is read.
"""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import weakref
from typing import Any, Dict, Iterable, Iterator, NamedTuple, Optional

from allranks.worker import collective, guard

KNOWN = frozenset({
    "_convert_to_deepspeed_param", "get_partition_dp_group", "dist", "get_world_group", "broadcast",
    "data", "view", "torch", "uint8", "get_global_rank", "partition", "ds_process_group",
    "get_dp_process_group",
})  # fmt: skip
"""What `Init._zero_init_param` may do, if what is here can take its place."""


BLANK_BYTES = 8 << 20
"""Of the smallest parameter whose part is left blank: copying a smaller one costs less than not to."""
OTHERWISE, SENDING, SKIPPING = 0, 1, 2
"""A rank's vote: it loads in the stock way, it loads its own bytes but knows this DeepSpeed too little, or neither."""


class Construction:
    """Covers `Init._zero_init_param`. At the first parameter of each outermost `zero.Init` all ranks tell each other
    what they are about to do, those too that load in the stock way: so no rank is alone with its collectives."""

    def __init__(self) -> None:
        self.is_agreed = False
        """Whether every rank is about to load its own bytes."""
        self.draws = False
        """Whether the model drew random numbers while it was built: then rank 0's values may be no other rank's."""
        self.blank: Dict[int, Any] = {}
        """Weak references to the parameters whose parts hold no values yet, by `id`."""
        self.drawn: Dict[int, Any] = {}
        """The same for the first parameter after each time that random numbers were drawn."""
        self.was_asked = False
        """Whether the model's code gathered a parameter while it was blank."""
        self._module: Any = None
        self._outer = 0
        """The script's own `zero.Init` around the loading."""
        self._random: Optional[States] = None
        self._is_known = False
        self._is_on = False
        self._voted_in: Any = None
        self._skips = False

    def cover(self, module: Any) -> None:
        """deepspeed.runtime.zero.partition_parameters has come."""
        init = module.Init
        original = init._zero_init_param
        code = getattr(original, "__code__", None)
        self._is_known = code is not None and set(code.co_names) <= KNOWN and "partition" in code.co_names

        def _zero_init_param(zero: Any, param: Any) -> None:
            if self._voted_in is not zero:
                self._vote(zero, init)
            if not self._skips:
                original(zero, param)
                return
            zero._convert_to_deepspeed_param(param)
            if param.device.type != "cpu" or param.numel() * param.element_size() < BLANK_BYTES:
                param.partition()
            else:
                with without_copies():
                    param.partition()
                self.blank[id(param)] = weakref.ref(param)
            states = random_states()
            if self._random is not None and not are_same(self._random, states):
                self._random, self.draws = states, True
                self.drawn[id(param)] = weakref.ref(param)

        init._zero_init_param = _zero_init_param
        self._cover_gathering(module)

    def _cover_gathering(self, module: Any) -> None:
        """Code of the model that gathers a blank parameter would see no values of it. It runs within the `zero.Init` of
        the library, which gathers parameters after that to give values to them."""
        gathering, self._module = module.GatheredParameters, module
        enter = gathering.__enter__

        def __enter__(context: Any) -> Any:
            if self._is_on and self._inits() > self._outer and getattr(context, "enabled", True):
                self.was_asked = self.was_asked or any(map(self.is_blank, getattr(context, "params", ())))
            return enter(context)

        gathering.__enter__ = guard.dressed(__enter__, enter)

    def _inits(self) -> int:
        """How many `zero.Init` are entered now."""
        return int(getattr(self._module, "zero_init_context", 0))

    def _vote(self, zero: Any, init: Any) -> None:
        from torch import distributed

        self._voted_in, votes = zero, [OTHERWISE]
        ranks = distributed.get_world_size(getattr(zero, "ds_process_group", None))
        if ranks == distributed.get_world_size():  # else the other ranks may be doing something else
            vote = OTHERWISE
            if self._is_on:
                vote = SKIPPING if self._is_known and type(zero) is init else SENDING
            votes = collective.of_all(vote)
        self._add_gpu()
        self.is_agreed, self._skips = min(votes) > OTHERWISE, min(votes) == SKIPPING

    def _add_gpu(self) -> None:
        """The first `zero.Init` of a process may be what begins with the GPU: its generator was not looked at before.
        Its offset counts what was drawn since it was seeded."""
        import torch

        states = random_states()
        if self._is_on and self._random is not None and states.gpu is not None and self._random.gpu is None:
            generator: Any = torch.cuda.default_generators[torch.cuda.current_device()]
            offset = generator.get_offset() if hasattr(generator, "get_offset") else None
            self.draws = self.draws or offset != 0
            self._random = self._random._replace(gpu=states.gpu)

    @contextlib.contextmanager
    def skipping(self) -> Iterator[None]:
        self._is_on, self._voted_in, self.is_agreed = True, None, False
        self.draws, self._random, self.drawn = False, random_states(), {}
        self.was_asked, self._outer = False, self._inits()
        try:
            yield
        finally:
            self._is_on, self._voted_in, self.is_agreed, self._skips = False, None, False, False
            self.blank, self.drawn = {}, {}

    def may_have_drawn(self, model: Any, names: Iterable[str]) -> bool:
        """Whether one of these parameters is of a module that drew random numbers while it was built. All parameters
        of a module are made before DeepSpeed sees the first of them."""
        modules = {
            name.rpartition(".")[0]
            for name, one in model.named_parameters(remove_duplicate=False)
            if (kept := self.drawn.get(id(one))) is not None and kept() is one
        }
        return any(name.rpartition(".")[0] in modules for name in names)

    def is_blank(self, parameter: Any) -> bool:
        kept = self.blank.get(id(parameter))
        return kept is not None and kept() is parameter

    def were_given(self, parameters: Iterable[Any]) -> None:
        """Their parts hold the values of the files."""
        for one in parameters:
            self.blank.pop(id(one), None)

    def left_blank(self, model: Any) -> Optional[str]:
        """The name of a parameter that got no values, or what it is. A head that was replaced by the embedding is
        gone: it does not count."""
        for name, one in model.named_parameters(remove_duplicate=False):
            if self.is_blank(one):
                return str(name)
        if self.blank and any(kept() is not None for kept in self.blank.values()):
            gc.collect()  # DeepSpeed's parameters are parts of cycles
            if any(kept() is not None for kept in self.blank.values()):
                return "a large parameter outside the model"
        return None


class States(NamedTuple):
    """Of the generators that a model may draw from."""

    cpu: Any
    python: Any
    numpy: Any
    """None if nothing has imported numpy."""
    gpu: Any
    """None if it is not in use."""


def random_states() -> States:
    import torch

    numpy = sys.modules.get("numpy.random")
    gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    return States(
        torch.get_rng_state(),
        random.getstate(),
        numpy.get_state() if numpy is not None else None,
        torch.cuda.get_rng_state() if gpu else None,
    )


def set_random_states(states: States) -> None:
    import torch

    torch.set_rng_state(states.cpu)
    random.setstate(states.python)
    if states.numpy is not None:
        sys.modules["numpy.random"].set_state(states.numpy)
    if states.gpu is not None:
        torch.cuda.set_rng_state(states.gpu)


def are_same(states: States, others: States) -> bool:
    import torch

    if states.python != others.python or (states.gpu is None) != (others.gpu is None):
        return False
    if not torch.equal(states.cpu, others.cpu):
        return False
    if states.gpu is not None and not torch.equal(states.gpu, others.gpu):
        return False
    return (
        states.numpy is None or others.numpy is None or comparable(states.numpy) == comparable(others.numpy)
    )


def comparable(state: Any) -> Any:
    """numpy's state: ("MT19937", keys, position, …), or a dict if a script gave it another generator."""
    return (state[1].tobytes(), state[2:]) if isinstance(state, tuple) else repr(state)


def without_copies() -> Any:
    """A context in which `copy_` leaves its target as it is."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class WithoutCopies(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is torch.ops.aten.copy_.default:
                return args[0]
            return function(*args, **(kwargs or {}))

    return WithoutCopies()


CONSTRUCTION = Construction()
