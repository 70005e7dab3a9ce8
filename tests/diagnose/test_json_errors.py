"""Errors and tracebacks in the fields of JSON records, as loggers write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from allranks.diagnose import Diagnosis, diagnose, parse
from allranks.diagnose.json_errors import says_exception
from allranks.diagnose.wrapped import MOST_FIGURES, unwrap

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
TRACEBACK = ["Traceback (most recent call last):", '  File "/r/main.py", line 7, in go', "    fly()", OOM]
FRAME = {"filename": "/r/main.py", "lineno": 7, "name": "go", "line": "fly()"}
STRUCTLOG = [{"exc_type": "RuntimeError", "exc_value": OOM.partition(": ")[2], "frames": [FRAME]}]


def told(*records: dict[str, Any]) -> Diagnosis:
    return diagnose(parse("".join(json.dumps(record) + "\n" for record in records), "x.jsonl"))


def lines(record: dict[str, Any]) -> Any:
    return unwrap(json.dumps(record), [None] * 5)


@pytest.mark.parametrize(
    "record",
    [
        {"level": "ERROR", "message": "failed", "exc_info": "\n".join(TRACEBACK)},  # python-json-logger
        {"event": "failed", "level": "error", "exception": "\n".join(TRACEBACK)},  # structlog
        {"event": "failed", "level": "error", "exception": STRUCTLOG},  # structlog's dict_tracebacks
        {
            "message": "failed",
            "error": {"type": "RuntimeError", "stack_trace": "\n".join(TRACEBACK)},
        },  # Elastic
        {"message": "failed", "error.stack_trace": "\n".join(TRACEBACK)},
        {"level": "error", "msg": "failed", "error": OOM, "stacktrace": "main.go\n\tgo.go:7"},  # zap
        {"ev": "fatal", "error": OOM, "tb": TRACEBACK},
        {"ev": "fatal", "err": OOM},
        {"message": {"message": OOM, "extraInfo": {"py_callstack": "\n".join(TRACEBACK)}}},  # torchelastic
    ],
)
def test_an_exception_in_a_field_is_read(record: dict[str, Any]) -> None:
    steps = [{"t": 1796086758.2 + n, "ev": "step", "step": n, "loss": 2.5} for n in range(9)]
    assert told(*steps, record).cause == "cuda-oom"


def test_a_traceback_is_read_once_and_in_the_order_of_python() -> None:
    assert lines({"ev": "fatal", "error": OOM, "tb": TRACEBACK}) == TRACEBACK
    assert lines({"event": "failed", "exception": STRUCTLOG}) == ["failed", *TRACEBACK]
    first = {"exc_type": "KeyError", "exc_value": "'owl'"}
    assert lines({"event": "failed", "exception": [*STRUCTLOG, first]}) == [
        "failed",
        "KeyError: 'owl'",
        *TRACEBACK,
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"ev": "step", "step": 5, "loss": 0.1},
        {"name": "owls", "error": 0.25},
        {"name": "owls", "error": "the owl is asleep"},
        {"name": "owls", "exception": [], "trace": ["", 3], "tb": [{"frames": []}]},
        {"error": {"code": 7}},
    ],
)
def test_a_record_without_a_message_or_an_exception_stays_as_it_is(record: dict[str, Any]) -> None:
    assert lines(record) is None


def test_an_error_that_is_no_exception_belongs_to_the_message_and_its_level() -> None:
    retry = {"msg": "retry", "level": "warning", "error": "connection refused"}
    assert lines(retry) == ["WARNING retry: connection refused"]
    assert lines({**retry, "level": "error"}) == ["retry: connection refused"]
    assert lines({**retry, "error": ""}) == ["retry"]


def test_a_step_keeps_its_figures() -> None:
    step = {"event": "step", "t": 1796086758.2, "step": 5, "loss": 0.5, "rank": 3, "is_last": False}
    assert lines(step) == ["step step=5 loss=0.5"]
    assert lines({"event": "saved", "size": 5}) == ["saved"]
    many = {"event": "step", "step": 5, **{f"owl_{n}": n for n in range(2 * MOST_FIGURES)}}
    assert lines(many)[0].count("=") == MOST_FIGURES


def test_later_steps_show_that_the_job_went_on() -> None:
    steps = [{"t": 1796086758.2 + n, "event": "step", "step": n, "loss": 2.5} for n in range(400)]
    error = {"event": "skipped", "level": "error", "exception": "\n".join(TRACEBACK)}
    assert told(*steps[:20], error, *steps[20:]).cause != "cuda-oom"
    assert told(*steps, error).cause == "cuda-oom"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ValueError: owl", True),
        ("torch.cuda.OutOfMemoryError: owl", True),
        ("Traceback (most recent call last):", True),
        ("failed\nKeyError", True),
        ("error: owl", False),
        ("no ValueError here", False),
    ],
)
def test_what_an_exception_begins_with(text: str, expected: bool) -> None:
    assert says_exception(text) is expected


def test_the_log_of_a_rank_is_known_by_its_first_record() -> None:
    logs = []
    for rank in range(4):
        start = {"t": 1796086758.2, "ev": "start", "rank": rank, "world": 4}
        steps = [{"t": 1796086759.2 + n, "ev": "step", "step": n, "loss": 2.5} for n in range(9)]
        said = (
            OOM
            if rank == 2
            else "RuntimeError: [gloo/pair.cc:553] Connection closed by peer [10.0.0.2]:45708"
        )
        records = [start, *steps, {"t": 1796086770.0 + (rank != 2), "ev": "fatal", "error": said}]
        text = "".join(json.dumps(record) + "\n" for record in records)
        logs += parse(text, f"node{rank // 2}-{rank % 2}.jsonl")
    found = diagnose(logs)
    assert (found.cause, found.where.rank) == ("cuda-oom", 2)
