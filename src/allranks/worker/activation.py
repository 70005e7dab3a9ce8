"""The entry point: the bundle's sitecustomize.py calls `activate()` in every Python that the run starts.

Only the process of a rank goes further. Each import here delays every rank's start, so there are few. The heartbeat
thread loads the rest, or a hook does so when its library is imported.
"""

from __future__ import annotations

import os
import threading

from allranks.worker import guard, rank_identity, rank_log
from allranks.worker.after_import import AfterImport
from allranks.worker.exit_hooks import ExitHooks
from allranks.worker.rank_reporter import Rank

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Optional

ACTIVE: Optional[Rank] = None
LOADED = threading.Event()
"""Whether the heartbeat's thread has imported what it needs."""

HEART = "allranks-heart"
"""The name of that thread."""

LOADED_SECONDS = 5.0
"""The most that a fork waits for it: the thread may itself wait for an import that the script has begun."""

STANDBY, LIST = "ALLRANKS_STANDBY_HANDLE", "ALLRANKS_STANDBY_LIST"
"""The names of `core.standby`, which is imported only if one of them is there."""


def activate() -> None:
    """Makes this process report how it is doing, if it is a rank. It does not raise, and returns at once."""
    guard.guarded(_activate)()


def _activate() -> None:
    global ACTIVE
    found = rank_identity.here(os.environ)
    if found is None or ACTIVE is not None:
        return
    ACTIVE = rank = Rank(found)
    guard.guarded(watch_imports)(rank)
    guard.guarded(rank.garbage.begin)()
    stood_by = STANDBY in os.environ
    if stood_by:
        _stand_by(rank)
        found = rank.place
    os.environ[rank_identity.MARK] = found.mark
    guard.guarded(rank_log.redirect)(found)
    guard.guarded(ExitHooks(rank).install)()
    if LIST in os.environ and found.local_rank == 0 and not stood_by:
        guard.guarded(_record_imports)(rank)
    threading.Thread(target=_live, args=(rank,), name=HEART, daemon=True).start()
    os.register_at_fork(before=_wait_for_heart)


def _wait_for_heart() -> None:
    """Before a fork: the heartbeat's thread is not in the child, and a lock of an import that it holds now would never
    be free there."""
    if threading.current_thread().name != HEART:
        LOADED.wait(LOADED_SECONDS)


def _stand_by(rank: Rank) -> None:
    """Returns when the attempt begins that this process waited for."""
    from allranks.worker import standby

    standby.stand_by(rank)
    rank.place = rank_identity.here(os.environ) or rank.place


def _record_imports(rank: Rank) -> None:
    from allranks.worker import standby

    recorder = standby.Recorder(os.environ[LIST])
    recorder.install()
    rank.at_join, rank.at_first_step = recorder.joins, recorder.has_stepped


def _live(rank: Rank) -> None:
    try:
        try:
            from allranks.worker import heartbeat
        finally:
            LOADED.set()
        heartbeat.live(rank)
    except Exception as error:  # for example, the bundle was removed; there is no way to report it
        guard.note("heart", error)


def watch_imports(rank: Rank) -> None:
    """Registers a hook for each library. The hook's module is loaded when the library is imported."""

    def later(module_name: str, function: str):
        def act(module):
            hooks = __import__(f"allranks.worker.{module_name}", fromlist=[function])
            getattr(hooks, function)(rank, module)
            rank.garbage.keep_imports()

        act.__name__ = f"{module_name}.{function}"
        return act

    AfterImport(
        {
            "torch": later("torch_hooks", "on_torch"),
            "torch._dynamo.callback": later("compilation", "on_dynamo"),
            "torch.cuda.graphs": later("compilation", "on_graphs"),
            "torch.utils.cpp_extension": later("compilation", "on_extensions"),
            "torch.utils.data.dataloader": later("data_loading", "on_dataloader"),
            "torch.distributed.checkpoint.state_dict_saver": later("saver_hooks", "on_distributed"),
            "safetensors.torch": later("saver_hooks", "on_safetensors"),
            "accelerate.accelerator": later("saver_hooks", "on_accelerate"),
            "lightning.fabric.utilities.cloud_io": later("saver_hooks", "on_lightning"),
            "lightning_fabric.utilities.cloud_io": later("saver_hooks", "on_lightning"),
            "torch.amp.grad_scaler": later("torch_hooks", "on_grad_scaler"),
            "transformers.trainer": later("transformers_hooks", "on_trainer"),
            "transformers.modeling_utils": later("model_loading", "on_modeling"),
            "tqdm.std": later("model_loading", "on_tqdm"),
            "deepspeed": later("deepspeed_hooks", "on_deepspeed"),
            "deepspeed.runtime.zero.partition_parameters": later("loader_hooks", "on_partitioning"),
            "deepspeed.runtime.engine": later("deepspeed_hooks", "on_engine"),
            "deepspeed.runtime.pipe.engine": later("deepspeed_hooks", "on_pipeline"),
        }
    ).install()
