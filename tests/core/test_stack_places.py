"""What a stack says: who waits for other ranks, and who only stands below a file of torch.distributed."""

from __future__ import annotations

import pytest

from allranks.core.stack_places import waits

T = "/x/site-packages/torch/"
SCRIPT = ("/u/train.py", 30, "main")
CALL = (T + "nn/modules/module.py", 1778, "_call_impl")
DDP = (T + "nn/parallel/distributed.py", 1630, "forward")
FSDP = (T + "distributed/fsdp/fully_sharded_data_parallel.py", 850, "forward")
REDUCE = (T + "distributed/distributed_c10d.py", 2501, "all_reduce")
RECORD = (T + "distributed/elastic/multiprocessing/errors/__init__.py", 357, "wrapper")
MODEL = ("/u/model.py", 12, "forward")
NORM = (T + "nn/modules/_functions.py", 40, "forward")


@pytest.mark.parametrize(
    ("frames", "waiting"),
    [
        ([SCRIPT, REDUCE], True),
        ([SCRIPT], False),
        (
            [("/u/train.py", 99, "<module>"), RECORD, SCRIPT],
            False,
        ),  # @record is around every script of torchrun
        ([("/u/train.py", 99, "<module>"), RECORD, SCRIPT, REDUCE], True),
        ([SCRIPT, CALL, DDP, CALL, MODEL], False),  # it computes, alone perhaps, in the wrapped model
        ([SCRIPT, CALL, FSDP, CALL, MODEL], False),
        ([SCRIPT, CALL, DDP, (DDP[0], 1521, "_sync_buffers")], True),
        ([SCRIPT, CALL, FSDP, (T + "distributed/fsdp/_runtime_utils.py", 380, "_pre_forward_unshard")], True),
        ([SCRIPT, CALL, DDP, CALL, MODEL, CALL, NORM, REDUCE], True),  # SyncBatchNorm
        ([SCRIPT, (T + "autograd/graph.py", 800, "_engine_run_backward")], False),
    ],
)
def test_who_waits(frames, waiting) -> None:
    assert waits(frames) == waiting
