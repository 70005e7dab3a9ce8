"""The rank that launchers, schedulers and other ranks name."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse

TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
train.py FAILED
Failures:
[1]:
  time      : 2025-05-20_10:00:05
  host      : owl1
  rank      : 1 (local_rank: 1)
  exitcode  : -6 (pid: 4243)
Root Cause (first observed failure):
[0]:
  time      : 2025-05-20_10:00:01
  host      : owl1
  rank      : 3 (local_rank: 3)
  exitcode  : {} (pid: 4242)
"""
AWAITED = (
    "[rank3]: torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId "
    "from [0] via c10d key-value store by key '0', but store->get('0') got error: Timeout waiting for key\n"
)
INTEL = "=   RANK 2 PID 4123 RUNNING AT owl1\n=   KILLED BY SIGNAL: 9 (Killed)\n"
TAKEN = "zmq.error.ZMQError: Address already in use\n"
PADDLE = "Container rank 1 status failed cmd ['/usr/bin/python', 'train.py'] code 1 log owls/workerlog.1\n"


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        pytest.param(TABLE.format(-9), "rank-sigkilled", 3, id="an abort after a kill is an echo"),
        pytest.param(TABLE.format(-11), "rank-crashed-first", 3, id="a crash before an abort"),
        pytest.param(
            "[rank: 2] Child process with PID 4123 terminated with code 1\n", None, 2, id="Lightning"
        ),
        pytest.param(AWAITED, "rendezvous-timeout", 0, id="the rank whose NCCL id never came"),
        pytest.param(
            "[rank1]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0\n",
            None,
            0,
            id="rank 0 writes the id of the group of all",
        ),
        pytest.param(
            "[rank1]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /owls/0//cuda//0\n",
            None,
            None,
            id="of another group nobody knows who writes it",
        ),
        pytest.param(PADDLE, None, 1, id="PaddlePaddle"),
        pytest.param(
            "owls - ERROR - Rank[5] failed.\n" + TAKEN, "rendezvous-port-in-use", 5, id="a line beside it"
        ),
        pytest.param(
            "owls - ERROR - Rank[5] failed.\nowls - ERROR - Rank[6] failed.\n" + TAKEN,
            None,
            None,
            id="two of them",
        ),
        pytest.param(
            AWAITED.replace("retrie", "retrei"), "rendezvous-timeout", 0, id="as older versions spell it"
        ),
        pytest.param(INTEL, "rank-sigkilled", 2, id="Intel MPI"),
        pytest.param(
            INTEL + INTEL.replace("RANK 2", "RANK 5").replace("9 (Killed)", "11 (Segmentation fault)"),
            "rank-crashed-first",
            5,
            id="Intel MPI kills the others",
        ),
    ],
)
def test_the_rank_that_others_name(text: str, cause: str | None, rank: int | None) -> None:
    found = diagnose(parse(text, "x.log"))
    assert found.where.rank == rank
    assert cause in (None, found.cause)
