"""Parts of logs, as people paste them: cut anywhere, with the rank in another line than the error."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse

FRAME = '  File "/u/train.py", line 8, in step\n    loss = model(x)\n'
TABLE = """t.py FAILED
Failures:
  <NO_OTHER_FAILURES>
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_10:11:12
  host      : gpu-4
  rank      : 5 (local_rank: 1)
  exitcode  : {code} (pid: 3101)
"""


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        (FRAME + "KeyError: 'labels'\n", "rank-crashed-first", None),
        (f"[rank3]: {FRAME}[rank3]: KeyError: 'labels'\n", "rank-crashed-first", 3),
        ("KeyError: 'labels'\n", "unproven", None),
        (FRAME + "Saving: done\n", "unproven", None),
        (FRAME + "a line\n" * 9 + "KeyError: 'labels'\n", "unproven", None),
        ("Exception ignored in: <f>\n" + FRAME + "KeyError: 1\nstep 3 loss 1\n", "benign-noise", None),
        (f"[rank2]: {FRAME}\nCUDA error: device-side assert triggered\n", "cuda-device-assert", 2),
        ("CUDA error: device-side assert triggered\n" + TABLE.format(code=1), "cuda-device-assert", 5),
        (TABLE.format(code=-9), "rank-sigkilled", 5),
        ("  exitcode  : -9 (pid: 2344)\n  traceback : Signal 9 (SIGKILL)\n", "rank-sigkilled", None),
    ],
)
def test_what_is_left_of_a_log_is_enough(text: str, cause: str, rank: int | None) -> None:
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == (cause, rank)


def test_of_two_ranks_with_tracebacks_none_is_named() -> None:
    text = f"[rank2]: {FRAME}[rank3]: {FRAME}CUDA error: device-side assert triggered\n"
    assert diagnose(parse(text, "x.log")).where.rank is None
