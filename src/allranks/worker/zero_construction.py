"""A model built under `zero.Init` whose parameters are about to be read: rank 0's values of them are not needed.

DeepSpeed sends every parameter from rank 0 to all ranks as soon as it is made, so the network carries the model once
before a file is opened. While `skipping`, each rank cuts its own, and the values come from the files.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from allranks.worker import collective

KNOWN = frozenset({
    "_convert_to_deepspeed_param", "get_partition_dp_group", "dist", "get_world_group", "broadcast",
    "data", "view", "torch", "uint8", "get_global_rank", "partition", "ds_process_group",
    "get_dp_process_group",
})  # fmt: skip
"""What `Init._zero_init_param` may do, if what is here can take its place."""


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
        self._random: Any = None
        self._is_known = False
        self._is_on = False
        self._voted_in: Any = None
        self._skips = False

    def cover(self, module: Any) -> None:
        """deepspeed.runtime.zero.partition_parameters has come."""
        import torch

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
            param.partition()
            self.draws = self.draws or not torch.equal(self._random, torch.get_rng_state())

        init._zero_init_param = _zero_init_param

    def _vote(self, zero: Any, init: Any) -> None:
        from torch import distributed

        self._voted_in, votes = zero, [OTHERWISE]
        ranks = distributed.get_world_size(getattr(zero, "ds_process_group", None))
        if ranks == distributed.get_world_size():  # else the other ranks may be doing something else
            vote = OTHERWISE
            if self._is_on:
                vote = SKIPPING if self._is_known and type(zero) is init else SENDING
            votes = collective.of_all(vote)
        self.is_agreed, self._skips = min(votes) > OTHERWISE, min(votes) == SKIPPING

    @contextlib.contextmanager
    def skipping(self) -> Iterator[None]:
        import torch

        self._is_on, self._voted_in, self.is_agreed = True, None, False
        self.draws, self._random = False, torch.get_rng_state()
        try:
            yield
        finally:
            self._is_on, self._voted_in, self.is_agreed, self._skips = False, None, False, False


CONSTRUCTION = Construction()
