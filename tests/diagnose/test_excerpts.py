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

DRIFT = "version-drift-transformers-peft"


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        (FRAME + "KeyError: 'labels'\n", "rank-crashed-first", None),
        (f"[rank3]: {FRAME}[rank3]: KeyError: 'labels'\n", "rank-crashed-first", 3),
        ("KeyError: 'labels'\n", "rank-crashed-first", None),
        ("[rank3]: KeyError: 'labels'\n", "rank-crashed-first", 3),
        ("KeyError: 'labels'\n" + "step 3 loss 1\n" * 12, "benign-noise", None),
        ("KeyError: 'labels'\n" + "a line\n" * 50, "unproven", None),
        ("UserWarning: labels\n", "unproven", None),
        ("Exception ignored in: <f>\nKeyError: 1\n", "unproven", None),
        ("step 3 loss 1\nKeyError: 1\n{'train_runtime': 3.2}\n", "benign-noise", None),
        (
            "RuntimeError: Socket closed by peer: Connection closed by peer\n",
            "nccl-remote-process-exited",
            None,
        ),
        ("RuntimeError: cannot load:\ncannot import name 'A' from 'transformers' (x.py)\n", DRIFT, None),
        (FRAME + "Saving: done\n", "unproven", None),
        (FRAME + "a line\n" * 9 + "Broke: 'labels'\n", "unproven", None),
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


DOCUMENT = (
    "# Storage\n\nText.\n\n```bash\nOSError: [Errno 28] No space left on device\n```\n"
    + "## More\nwords\n" * 20
)
SCRIPT = "".join(f"import owls.{chr(97 + n)}\nx = {n}\n" for n in range(20))
PROGRAM = "".join(f"  if (n == {n}) {{\n    return ncclInternalError;\n  }}\n" for n in range(20))


@pytest.mark.parametrize("text", [DOCUMENT, PROGRAM, SCRIPT + "raise OSError('CUDA out of memory')\n"])
def test_a_text_about_logs_is_not_a_log(text: str) -> None:
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.why) == ("unproven", "This is a document or a program, not a log.")


def test_code_that_comes_with_each_error_makes_no_document_of_a_log() -> None:
    shown = "".join(f'"if {{ $owls_that_are_fed_{n} }} {{\n    set mice {n}\n  }}\n' for n in range(6))
    text = "".join(f"fed owl {n}\nchild process exited abnormally\n{shown}" for n in range(9))
    found = diagnose(parse(text + "bash: code/feed.sh: No such file or directory\n", "x.log"))
    assert found.cause == "script-not-found"


EXPLAINED = [
    ("This PR adds a wait\nWithout it the rendezvous fails in a time-out\n", "unproven"),
    ("Without it the rendezvous fails in a time-out\n", "rendezvous-timeout"),
    ("This PR adds a wait\nOSError: [Errno 28] No space left on device\n", "disk-full-checkpoint"),
    ("[launcher] Fix the port: without it the rendezvous fails in a time-out\n", "unproven"),
    ("Added key: a\nwithout it the rendezvous fails in a time-out\n", "rendezvous-timeout"),
    ("fn.is_killed\nSkip to main content\nOOMKilled: the kernel ended it\n", "unproven"),
    ("fn.is_killed\nOOMKilled: the kernel ended it\n", "cpu-oom-killed"),
    ("Skip to main content\n2026-01-02 10:11:12 OOMKilled: the kernel ended it\n", "cpu-oom-killed"),
]


@pytest.mark.parametrize(("text", "cause"), EXPLAINED)
def test_what_explains_a_program_and_shows_no_run_has_no_cause(text: str, cause: str) -> None:
    assert diagnose(parse(text, "x.log")).cause == cause


@pytest.mark.parametrize(
    "sign", ["[rank0]: hello\n", "2026-01-02 10:11:12 hello\n", "step 3 loss 1.25\n", FRAME]
)
def test_a_log_that_prints_its_program_is_a_log(sign: str) -> None:
    text = "import os\nx = 1\n" * 20 + sign + "OSError: [Errno 28] No space left on device\n"
    assert diagnose(parse(text, "x.log")).cause == "disk-full-checkpoint"


def test_a_short_text_is_a_log() -> None:
    text = "### Error\n```\nOSError: [Errno 28] No space left on device\n```\n"
    assert diagnose(parse(text, "x.log")).cause == "disk-full-checkpoint"


@pytest.mark.parametrize(("rank", "confidence"), [("[rank3]: ", "certain"), ("", "likely")])
def test_a_crash_is_certain_only_if_its_rank_is_known(rank: str, confidence: str) -> None:
    text = f"{rank}Traceback (most recent call last):\n{rank}KeyError: 'labels'\n"
    assert diagnose(parse(text, "x.log")).confidence == confidence
