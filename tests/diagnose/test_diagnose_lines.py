"""Prefixes of many launchers, streams in bounded memory, and what makes a line safe to show."""

from __future__ import annotations

import io
import re
import tracemalloc
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.diagnose import Line, clean, diagnose, parse, read, split
from allranks.diagnose.ends import signal_code
from allranks.diagnose.lines import LINE_LIMIT, seconds
from allranks.diagnose.prefixes import peel, place_of_source
from tests.diagnose.cases import CASES

PREFIXES = [
    # (line, rank, node, local, task, text)
    ("[rank0]: RuntimeError: x", 0, None, None, None, "RuntimeError: x"),
    ("[rank12]:[W1120 23:27:05.448 x.cpp:2] hello", 12, None, None, None, "[W1120 23:27:05.448 x.cpp:2] hello"),
    ("[Rank 3] hello", 3, None, None, None, "hello"),
    ("[rank: 1] Received SIGTERM: 15", 1, None, None, None, "Received SIGTERM: 15"),
    ("rank 4: hello", 4, None, None, None, "hello"),
    ("[default3]:  File", None, None, 3, None, " File"),
    ("0: [rank3]: hello", 3, None, None, 0, "hello"),
    ("17: hello", None, None, None, 17, "hello"),
    ("gpu-node-01: [2026-11-20 23:05:06] [rank0] step 1", 0, "gpu-node-01", None, None, "step 1"),
    ("10.0.0.5: hello", None, "10.0.0.5", None, None, "hello"),
    ("[node1]   File", None, "node1", None, None, "  File"),
    ("worker-1  | hello", None, "worker-1", None, None, "hello"),
    ("[2024-02-27T21:35:32.106313Z] fa88a9df || hello", None, "fa88a9df", None, None, "hello"),
    ("[1,3]<stderr>:hello", 3, None, None, None, "hello"),
    ("host-7:812:990 [2] NCCL WARN x", None, "host-7", 2, None, "NCCL WARN x"),
    ("[5] host-7:812:990 [2] misc/socket.cc:50 NCCL WARN x", 5, "host-7", 2, None, "misc/socket.cc:50 NCCL WARN x"),
    ("\x1b[36m(TrainWorker pid=27041, ip=10.0.0.2)\x1b[0m [rank1] step 0", 1, "10.0.0.2", None, None, "step 0"),
    ("[36m(TrainWorker pid=27041)[0m hello", None, None, None, None, "hello"),
    ("> [rank2]: quoted", 2, None, None, None, "quoted"),
    ("[E NCCL.cpp:828] [Rank 5] Watchdog", 5, None, None, None, "[E NCCL.cpp:828] [Rank 5] Watchdog"),
    ("[PG 1 Rank 6] Exception", 6, None, None, None, "[PG 1 Rank 6] Exception"),
    ("100%|██| 9/9 [rank2]:[E1120] glued", 2, None, None, None, "100%|██| 9/9 [rank2]:[E1120] glued"),
    # no prefixes
    ("RuntimeError: x", None, None, None, None, "RuntimeError: x"),
    ("libnccl.so.2: cannot open", None, None, None, None, "libnccl.so.2: cannot open"),
    ("run2.sh: line 3: x", None, None, None, None, "run2.sh: line 3: x"),
    ("step1: loss 3", None, None, None, None, "step1: loss 3"),
    ("12:30:11 hello", None, None, None, None, "12:30:11 hello"),
    ("[1]:", None, None, None, None, "[1]:"),
    ("", None, None, None, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "rank", "node", "local", "task", "text"), PREFIXES)
def test_prefix(raw, rank, node, local, task, text):
    line = next(parse([raw]))
    assert (line.rank, line.node, line.local, line.task, line.text) == (rank, node, local, task, text)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("logs/rank-3.log", (3, None, None, None)),
        ("rank_12.err", (12, None, None, None)),
        ("nodes/node-2/logs/rank-17.log", (17, "node-2", None, None)),
        ("node-2.log", (None, "node-2", None, None)),
        ("worker1.out", (None, "worker1", None, None)),
        ("/tmp/x/attempt_0/3/stderr.log", (None, None, 3, None)),
        ("logs/a100-node-1/local_rank_3.log", (None, "a100-node-1", 3, None)),
        ("48213_5.out", (None, None, None, 5)),
        ("logs/sft-48213-5.err", (None, None, None, 5)),
        ("train-2026-01.log", (None, None, None, None)),
        ("slurm-4242.out", (None, None, None, None)),
        ("torchrun.log", (None, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
def test_place_of_source(source, place):
    assert place_of_source(source) == place


def test_times_of_all_formats_compare():
    stamps = ["[2026-11-20 23:05:06] x", "2026-11-20T23:05:07.5Z x", "2026-11-20 23:05:08,250\tINFO x"]
    stamps += ["W1120 23:05:09.000000 7 torch/x.py:1] x", "[W304 12:17:18.228 socket.cpp:767] x"]
    stamps += ["[2026-11-20T23:05:10] x", "[2026-11-20_23:05:11] [INFO] x"]
    others = ["[2026-11-20T23:05] x", "[20261120T23:05:10] x", "[20-11-2026T23:05:10] x"]
    assert not any(next(parse([s])).node for s in stamps + others)
    times = [seconds(next(parse([s])).time) for s in stamps]
    assert None not in times
    first = times[0]
    assert [round(t - first, 2) for t in times[:4]] == [0.0, 1.5, 2.25, 3.0]
    assert times[4] < first
    assert seconds(None) is None and seconds("2026-99-99 aa:bb:cc") is None


@settings(max_examples=50)
@given(st.text(max_size=300))
def test_clean_leaves_nothing_that_a_terminal_obeys(text):
    shown = clean("\x1b]0;title\x07" + text + "\x1b[31m")
    assert shown.isprintable() or shown == ""
    assert "\x1b" not in shown and len(shown) <= 400


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=50), max_size=20))
def test_split_of_chunks_is_split_of_the_whole(chunks):
    whole = [line for line in split([b"".join(chunks).decode("latin-1")])]
    assert list(split([c.decode("latin-1") for c in chunks])) == whole


@settings(max_examples=50)
@given(st.text(alphabet="[]rank0123:= -node\x1b|()pid,ip<>W/.\t", max_size=80))
def test_no_prefix_breaks_the_parser(raw):
    for line in parse(raw, "rank-1.log"):
        assert isinstance(line, Line)


@settings(max_examples=50)
@given(st.binary(max_size=2000))
def test_binary_is_a_log_like_any_other(data):
    assert diagnose(parse(read(io.BytesIO(data)), "x")).cause


def test_an_open_file_is_cut_like_its_text(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes("10%|█\r[rank1] a\r\n[rank2] b\n\nlast".encode())
    expected = [(None, "10%|█"), (1, "a"), (None, ""), (2, "b"), (None, ""), (None, "last")]
    with path.open("rb") as file:
        assert [(line.rank, line.text) for line in parse(file)] == expected
    with path.open(encoding="utf-8") as file:
        assert [(line.rank, line.text) for line in parse(file)] == [*expected[:2], *expected[3:]]


def test_a_line_without_end_is_read_in_bounded_memory():
    class Endless:
        """16 MB of one line, then its end."""

        left = 16 << 20

        def read(self, size):
            size = min(size, self.left)
            self.left -= size
            return b"x" * size

    tracemalloc.start()
    lines = list(read(Endless()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(len(line) <= LINE_LIMIT + 2 for line in lines)
    assert peak < 2 << 20


def test_a_long_log_is_folded_in_bounded_memory():
    """15,000 lines of which none is like another, every tenth an error."""

    def lines():
        for n in range(15_000):
            word = "".join(chr(97 + (n // 26**k) % 26) for k in range(4))
            yield Line(
                f"[gloo/pair.cc] Connection closed by peer {word}" if n % 10 == 0 else f"said {word}",
                rank=n % 64,
            )

    tracemalloc.start()
    found = diagnose(lines())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.cause == "nccl-remote-process-exited"
    assert peak < 32 << 20


@pytest.mark.parametrize("month", range(1, 13))
def test_seconds_of_each_months_first_day_follow_the_calendar(month: int) -> None:
    """Of a leap year, since the year is not looked at."""
    first = datetime(2024, month, 1, 5, 6, 7)
    assert seconds(f"{first:%Y-%m-%d %H:%M:%S}") == (first - datetime(2023, 12, 31)).total_seconds()


def test_what_a_shell_says_of_signals_is_their_number_and_other_codes_stay() -> None:
    of_signals = {code: -number for number in (1, 2, 3, 4, 6, 7, 8, 9, 11, 15) for code in [128 + number]}
    assert {code: signal_code(code) for code in range(-20, 256)} == {
        code: of_signals.get(code, code) for code in range(-20, 256)
    }


@pytest.mark.parametrize(
    ("text", "cut"), [("abcd", "abcd"), ("abcde", "abcde"), ("abcdef", "abcd…"), ("", "")]
)
def test_evidence_is_cut_only_where_it_is_too_long(text: str, cut: str) -> None:
    assert clean(text, 5) == cut


@pytest.mark.parametrize("digit", "0197")
def test_no_value_of_a_digit_decides_what_a_prefix_is(digit: str) -> None:
    """Lines that differ in digits alone are looked up together (`shapes.py`)."""
    texts = [one if isinstance(one, str) else one[0] for c in CASES.values() for one in (*c.FIRES, *c.SILENT)]
    lines = [line for text in texts for line in text.splitlines()]
    lines += [
        "[2026-03-02 09:48:55 DP0 TP1] x",
        "[09:48:55 PP2 ATTN_CP1 TP1 EP1] x",
        "10:07:31.266 [rank2]: x",
    ]
    other = [re.sub(r"\d", digit, line) for line in lines]
    differ = [a for a, b in zip(lines, other, strict=True) if peel(a, [None] * 5) != peel(b, [None] * 5)]
    assert differ == [] and len(lines) > 1000
