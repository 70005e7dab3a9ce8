"""Progress before the training: a model being loaded, a data set being prepared.

Most is read from the progress bars that the libraries draw anyway. Under ZeRO-3 transformers reads a model's
files without one, on every rank, and for a large model that takes longest: there the files are counted.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Dict, Optional

from allranks.worker import guard, loader_hooks
from allranks.worker.rank_reporter import Rank


def on_modeling(rank: Rank, module: Any) -> None:
    """transformers.modeling_utils: while `from_pretrained` runs, the phase is `loading`."""
    guard.guarded(loader_hooks.install)(rank, module)
    model = module.PreTrainedModel
    original = model.__dict__["from_pretrained"].__func__
    entering = guard.around(
        original, lambda args, kwargs: rank.enter("loading"), lambda kept: loaded(rank, kept)
    )
    model.from_pretrained = classmethod(entering)
    count_files(rank, module, model)


def count_files(rank: Rank, module: Any, model: Any) -> None:
    """How many of the model's files are read: transformers reads each with `load_state_dict`."""
    name = "_load_pretrained_model"
    loader = model.__dict__.get(name)  # a static method in transformers 5, a class method before
    if loader is None or not hasattr(module, "load_state_dict"):
        return

    def begin(args: Any, kwargs: Any) -> None:
        lists = [value for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple))]
        files = next((value for value in lists if value and is_file_of_weights(value[0])), ())
        rank.shards = (0, len(files)) if files else None

    def end(kept: Any) -> None:
        rank.shards = None

    def one_more(kept: Any) -> None:
        if rank.shards is not None:
            rank.shards = (rank.shards[0] + 1, rank.shards[1])

    setattr(model, name, type(loader)(guard.around(loader.__func__, begin, end)))
    module.load_state_dict = guard.around(module.load_state_dict, after=one_more)


def is_file_of_weights(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and str(value).endswith((".safetensors", ".bin"))


def loaded(rank: Rank, entered: Any) -> None:
    if entered is not None:
        rank.leave(entered)
        if not rank.is_in("loading"):
            rank.reach("preparing")


def on_tqdm(rank: Rank, module: Any) -> None:
    """tqdm.std: the bar drawn last is what the rank is doing while it does not train yet."""
    bars = Bars()
    original = module.tqdm.__init__

    def after(bar: Any) -> None:
        bars.drawn(bar)
        if not getattr(bar, "disable", True) and rank.phase == "importing":
            rank.reach("preparing")

    # __init__ returns nothing; what `before` gives is the bar itself.
    module.tqdm.__init__ = guard.around(original, lambda args, kwargs: args[0], after)
    rank.progress = bars.progress


class Bars:
    """Remembers the newest progress bar without keeping it alive."""

    def __init__(self) -> None:
        self._newest: Any = None

    def drawn(self, bar: Any) -> None:
        if not getattr(bar, "disable", True):
            self._newest = weakref.ref(bar)

    def progress(self) -> Optional[Dict[str, Any]]:
        """`{what, done, total}` of the bar, None if none is being drawn. `total` may be None."""
        bar = None if self._newest is None else self._newest()
        # A closed bar is disabled by tqdm (tqdm.std.tqdm.close).
        if bar is None or getattr(bar, "disable", True):
            return None
        what = str(getattr(bar, "desc", "") or "").rstrip(": ")[:120]
        done, total = getattr(bar, "n", None), getattr(bar, "total", None)
        if not isinstance(done, (int, float)):
            return None
        return {"what": what, "done": done, "total": total if isinstance(total, (int, float)) else None}
