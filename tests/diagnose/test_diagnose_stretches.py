"""Reading in stretches says what reading line after line says: everything that is kept of a log is the same."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.cli.log_arrays import cutter
from allranks.cli.log_matcher import suspects
from allranks.diagnose import Evidence, blocks, conclude, parse, read, recognizer
from allranks.diagnose import counting as counting_module
from allranks.diagnose import kinds as kinds_module
from allranks.diagnose import lines as lines_module
from allranks.diagnose import samples as samples_module
from allranks.diagnose import scan as scan_module
from allranks.diagnose import usual as usual_module
from allranks.diagnose.blocks import SAME, Lines, is_longer, lines_of, same_lines, whole_lines
from allranks.diagnose.kinds import Kinds
from allranks.diagnose.scan import scan
from allranks.diagnose.streams import CLOSED, OPEN
from allranks.diagnose.stretches import Stretch
from allranks.diagnose.suspects import covered, literals
from tests.diagnose import forms
from tests.diagnose.cases import CASES


def plain(value):
    """Something that can be compared, of all that an `Evidence` keeps. Nobody reads the frames of a traceback that has
    ended."""
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return list(map(plain, value))
    if isinstance(value, set):
        return frozenset(map(plain, value))
    if hasattr(value, "__slots__"):
        left_out = {"_of", "usual"} | (
            {"frames", "own", "code"} if getattr(value, "traceback", OPEN) == CLOSED else set()
        )
        return {name: plain(getattr(value, name)) for name in value.__slots__ if name not in left_out}
    return value


def kept(seen, is_single=False):
    left_out = {"_shapes", "_source", "_source_name", "_ended", "_frames", "samples"}
    found = {name: plain(value) for name, value in vars(seen).items() if name not in left_out}
    found["of"] = {name: sorted(source._of.values()) for name, source in seen.sources.items()}
    found["usual"] = {
        name: usual_lines(source.usual) for name, source in seen.sources.items() if seen.reads_ends
    }
    compared = seen.samples.lines(is_single, seen.usual.number)
    found["samples"] = [line._replace(time=None) for line in compared]  # nobody asks when it was
    return found


def usual_lines(usual):
    """What is asked of the lines that it keeps."""
    late = [one for one in usual._last if one[0] > usual.number - usual_module.LAST]
    return usual._forms, late, usual.number


@pytest.fixture(autouse=True)
def few_lines_are_kept(monkeypatch):
    """So few of a single log that most lines of a short one are counted."""
    for module, name, value in (
        (usual_module, "FIRST", 4),
        (usual_module, "WINDOW", 2),
        (usual_module, "LAST", 5),
        (samples_module, "FIRST", 4),
        (samples_module, "FIRST_OF_EACH", 3),
        (samples_module, "LAST", 5),
        (counting_module, "LAST", 5),
        (scan_module, "LAST", 5),
    ):
        monkeypatch.setattr(module, name, value)


def text_of(data):
    return io.TextIOWrapper(io.BytesIO(data), "utf-8", errors="replace")


def are_few(logs):
    """Two logs stand for hundreds, of which only the first lines are kept."""
    return len(logs) != 2


def slowly(logs):
    seen = Evidence()
    seen.reads_ends = are_few(logs)
    for name, data in logs:
        for line in parse(read(text_of(data)), name):
            seen.add(line)
    return seen


def quickly(logs, matcher, quicker=None):
    seen, kinds, counted = Evidence(), Kinds(matcher, quicker), 0
    kinds.make_cutter()
    seen.reads_ends = are_few(logs)
    of_each = None if seen.reads_ends else samples_module.FIRST_OF_EACH
    for name, data in logs:
        for one in scan(whole_lines(io.BytesIO(data).read), name, None, kinds, of_each):
            counted += one.lines if isinstance(one, Stretch) else 0
            seen.take(one)
    return seen, counted


def same(logs):
    slow, is_single = slowly(logs), len(logs) == 1
    of_slow, told = (
        kept(slow, is_single),
        conclude(slow),
    )  # in this order: to conclude asks for times, which are kept too
    for matcher, quicker in ((None, None), (suspects, None), (suspects, cutter)):
        quick, counted = quickly(logs, matcher, quicker)
        assert kept(quick, is_single) == of_slow
        assert conclude(quick) == told
    return counted


RANKS, NODES = 4, 3


def step(n):
    return f"[2026-11-20 23:{n // 60 % 60:02}:{n % 60:02}] [rank{n % RANKS}] step {n} loss {3 - n / 1e4:.4f} lr 1e-4"


def channel(n):
    place = f"node-{n % NODES}:{n}:{n} [{n % 8}]"
    return f"{place} NCCL INFO Channel {n:02}/0 : {n}[{n % 8}] -> 4[1] [send] via NET/Socket/0"


BULK = (
    step,
    channel,
    lambda n: (
        f"{n % 100}%|{'█' * (n % 10)}| {n % 100}/100 [00:0{n % 10}<00:10, {n / 3:.2f}it/s, loss={n / 7:.3f}]"
    ),
    lambda n: f"{n % RANKS}: Loading: {n % 100}%|",
    lambda n: f"[default{n % RANKS}]:{{'loss': {n / 7:.4f}, 'grad_norm': {n / 3!r}, 'epoch': {n / 100:.2f}}}",
    lambda n: (
        f"17321432{n % 100:02}.5 10.0.0.{n % NODES}: iteration {n}/ 500 | lm loss: {n:.2E} | time per (ms): {n}"
    ),
    lambda n: f"plain text {n} of [rank{n % RANKS}] inside",
    lambda n: f"[rank{n % 37:02}] plain text {n}",
    lambda n: f"h{n % 7}: [rank{n * 7 % 131:03}] step {n} loss {n / 7:.3f}",
    lambda n: f"\x1b[32mgreen {n}\x1b[0m",
    lambda n: f"odd{n * 7919 % 10007:x}{chr(97 + n % 26)} words of no other line",
    lambda n: (
        f"2026-11-20 23:27:{n % 60:02} [default{n % RANKS}]: {n * 7919 % 10007:x} {chr(97 + n % 26)} alone"
    ),
    lambda n: "",
)


def bulk(pick, count):
    make, start = pick.choice(BULK), pick.randrange(1000)
    return [make(start + n) for n in range(count)]


def mixed(seed, stories):
    """Stretches of training and of talk, with the lines of failures strewn into them."""
    pick = random.Random(seed)
    lines = []
    for story in stories:
        for line in story.splitlines():
            lines += bulk(pick, pick.choice((0, 0, 1, 3, 30)))
            lines.append(line)
    lines += bulk(pick, pick.choice((0, 40)))
    end = pick.choice(("\n", "\n", "\r\n", "\r"))
    return (end.join(lines) + pick.choice(("", end))).encode("utf-8", "surrogateescape")


STORIES = [
    (case if isinstance(case, str) else case[0])
    for cases in CASES.values()
    for case in (*cases.FIRES, *cases.SILENT)
]


@pytest.fixture(scope="module", autouse=True)
def few_lines_are_many():
    """A matcher is asked about two lines already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module, "NEW", 2)
        patch.setattr(recognizer, "NEW", 2)
        patch.setattr(kinds_module, "UNLIKE", 0)
        yield


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32), st.lists(st.sampled_from(STORIES), max_size=3), st.sampled_from([64, 997, 1 << 19])
)
def test_the_same_is_kept_of_logs_in_which_failures_are_strewn(seed, stories, block):
    before, blocks.BLOCK_BYTES = blocks.BLOCK_BYTES, block
    try:
        same([("rank-1.log", mixed(seed, stories)), ("h1/all.log", mixed(seed + 1, stories[::-1]))])
    finally:
        blocks.BLOCK_BYTES = before


OWN = '  File "/srv/train.py", line 3, in step\n    step(x)'
TORCHS = '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/x.py", line 41, in forward\n    return f(x)'
PIECES = (
    "Traceback (most recent call last):", "Traceback (most recent call last):", OWN, TORCHS, f"{OWN}\n{TORCHS}",
    "\n".join([OWN] * 4 + [TORCHS] * 4), f"{TORCHS}\nplain text\n\nmore text\n{OWN}", "ValueError: odd", "KeyError:",
    "Exception ignored in: <f>", "During handling of the above exception, another exception occurred:", "queue.Empty",
    "plain text", "step 3 loss 2.5", "FutureWarning: old", '  File "/a/distributed_c10d.py", line 7, in all_reduce',
)  # fmt: skip
PREFIXES = ("", "[rank0]: ", "[rank1]: ", "2026-11-20 23:05:06 ", "h1: 2026-11-20 23:05:07 ")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2]), st.sampled_from(PIECES)), min_size=3, max_size=20),
    st.sampled_from([64, 400, 1 << 19]),
)
def test_the_same_is_kept_of_tracebacks_that_are_cut_and_mixed(prefixes, pieces, block):
    """Ranks in turn, in any order of lines; the second time all lines are known."""
    lines = [(which, line) for which, piece in pieces for line in piece.split("\n")]
    text = "\n".join(prefixes[which % len(prefixes)] + line for which, line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block)
        same([("x.log", (text + "\n").encode() * 2)])


HEADING, FRAME = "Traceback (most recent call last):\n", '  File "/srv/a.py", line 3, in f\n'


@pytest.mark.parametrize(
    "text",
    [
        f"[rank0]: {HEADING}[rank1]: {FRAME}",
        f"KeyError              {HEADING}{FRAME}",
        f"KeyError              {HEADING}{HEADING}{FRAME}",
        f"KeyError: x\n{HEADING}{FRAME}    f(x)\n",
        f"Exception ignored in: <f>\n{HEADING}{FRAME}KeyError: x\n",
    ],
)
def test_a_heading_that_is_counted_with_its_frames(text):
    """It is another rank's, IPython's, after IPython's, after an exception, of one that is ignored. The second time
    the lines are known."""
    same([("x.log", (text + "plain text\n" * 9 + text).encode()), ("y.log", (text * 3).encode())])
    for before in range(4):
        same([("x.log", ("plain text\n" * before + text * 3).encode())])


def test_a_class_without_a_colon_does_not_end_a_traceback_without_a_heading():
    same([("x.log", f"{OWN}\nqueue.Empty\nFutureWarning: old\n".encode() * 2)])


def test_a_bar_that_is_only_drawn_does_not_end_a_statement():
    frame = '  File "/v/site-packages/x/y.py", line 8, in <module>\n    from x.optim import Manager\n'
    same([("x.log", f"Traceback (most recent call last):\n{frame} 0%| | 0/9\n".encode())])


ODD = (
    "a\r", "\r\n", "\n", "==> h2/x.log <==\n", "---------\n", "node7\n", "> [rank2]: q\n", "\xff", "foo: bar\n",
    "[rank1]: Traceback (most recent call last):\n", "ValueError: x\n", "step 7 loss 2.5\n" * 5, "a" * 70000,
    '{"log": "step 3 loss 2"}\n', "h3 > Traceback (most recent call last):\n", "h3 > KeyError: x\n",
    "h4 > step 1 loss 2\n", "[1234567890] x\n", "[1732143200] x\n", "#033[0m x\n", "#5000 x\n",
    '[rank1]:   File "/a/b.py", line 3, in f\n', " 0%| | 0/9\n", " 1%| | 1/9 loss 2\n",
)  # fmt: skip


def test_of_a_very_long_line_the_ends_are_read_also_behind_a_matcher():
    same([("x.log", b"node7\n" + b"a" * 70000 + b"---------\nplain text\n")])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*STORIES[:40], *ODD]), max_size=30))
def test_the_same_is_kept_of_any_text(parts):
    same([("x.log", "".join(parts).encode("latin-1", "replace"))])


@pytest.mark.lengthy
def test_the_same_is_kept_of_every_case_after_long_training():
    for number, story in enumerate(STORIES):
        steps = "".join(step(n) + "\n" for n in range(12))
        same([(f"logs/rank-{number % 3}.log", (steps + story + steps).encode())])


@pytest.mark.lengthy
def test_the_same_is_kept_of_every_form():
    for make in forms.FORMS.values():
        same([(name, text.encode()) for text, name in make(forms.Story())])


@pytest.mark.parametrize("make", BULK)
def test_lines_that_say_nothing_are_counted_together(make):
    assert same([("x.log", "\n".join(make(n % 100) for n in range(400)).encode())]) > 300


ALIKE = (
    lambda n: step(1000 + n),
    lambda n: f"[rank{n % 37:02}] plain text {n:04}",
    lambda n: f"h{n % 7}: [rank{n * 7 % 131:03}] step {1000 + n} loss {n % 9}.125",
    lambda n: f"{{'loss': {n % 9}.5, 'epoch': {1000 + n}}}",
)


@pytest.mark.parametrize("make", ALIKE)
def test_lines_that_differ_in_digits_alone_are_not_cut_apart(make, monkeypatch):
    counted, count_same = [], scan_module._Scanner._count_same

    def count(scanner, data, text):
        counted.append(count_same(scanner, data, text))
        return counted[-1]

    monkeypatch.setattr(scan_module._Scanner, "_count_same", count)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4096)
    ends = "Traceback (most recent call last):\n" + OWN + "\nKeyError: 'x'\n"
    lines = [make(n) + "\n" for n in range(600)]
    text = "".join([*lines, ends, *lines[:90], ends, "odd\n", *lines[90:]]).encode()
    same([("x.log", text), ("y.log", b"of a single log some lines are read one by one\n")])
    assert sum(counted) > 2 * len("".join(lines))  # with a matcher and without


@given(
    st.lists(st.tuples(st.sampled_from([b"", b"a", b"ab", b"a0", b"0"]), st.integers(1, 40)), max_size=5),
    st.integers(0, 3),
)
def test_lines_are_the_same_as_far_as_they_are(runs, behind):
    lines = [b"b"] * behind + [line for line, count in runs for _ in range(count)]
    text, start = b"\n".join(lines), 2 * behind
    if start > len(text):
        return
    left = lines[behind:-1]  # the last one has no end
    expected = next((n for n, line in enumerate(left) if line != left[0]), len(left))
    count, width = same_lines(text, start)
    assert count == (expected if expected >= SAME else 0)
    assert width == (len(left[0]) + 1 if count else 0)


def test_a_column_of_lines_is_that_of_each():
    data = b"a1\nb2\nc3"
    assert Lines(data, 3, 3).column(1) == Lines(data, 3).column(1) == b"123"
    assert list(Lines(data, 3, 3)) == list(Lines(data, 3)) == [b"a1", b"b2", b"c3"]


STATEMENTS = (
    "x only supports y", "please do so", "x has been removed", "x already exists", "it returned nan", "an incorrect x",
    "x is inconsistent", "x and y are incompatible", "x is restricted", "x is forbidden", "x was refused",
    "x is denied", "x and y are mutually exclusive", "x is larger than y", "no x available",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["[rank3] x", "[rank0] x", "  node-0: x", "Foo: x", "0: x", "x loss=0", "a [rank0]: b", *STATEMENTS],
)
def test_the_matcher_finds_what_makes_a_line_more_than_plain_text(text):
    find = suspects()
    assert find is not None and find(
        b"alpha beta00 of any rank\n" + text.translate({n: "0" for n in range(48, 58)}).encode()
    )
    assert not find(b"alpha beta00 of any rank\nand nothing else")


@pytest.mark.parametrize("before", ["a", "Z", " ", "0", "_", "/"])
@pytest.mark.parametrize("after", ["a", "Z", " ", "0", "_", "/"])
def test_the_matcher_finds_every_text_also_those_it_does_not_look_for_themselves(before, after):
    find, texts = suspects(), [text.translate({n: "0" for n in range(48, 58)}) for text in literals()]
    lines = [f"alpha {before}{text}{after} beta" for text in texts]
    joined = "\n".join(lines).encode()
    assert find is not None
    assert lines_of(find(joined), joined) == set(range(len(lines)))


def test_texts_that_an_expression_finds_only_beside_some_characters_are_looked_for():
    texts, found = ["an error", "not", "noted", "error0"], [r"[Ee]rror", r"\b[Nn]ot\b", r"0$"]
    assert covered(texts, found) == {"an error", "error0"}


@pytest.mark.parametrize(
    "sizes", [[], [3], [4], [5], [4, 4, 4], [1, 4, 1], [4, 5], [5, 4], [0, 0, 9], [2, 2, 2, 5]]
)
def test_a_line_that_is_too_long_is_noticed_wherever_it_stands(sizes):
    assert is_longer(b"\n".join(b"x" * size for size in sizes), 4) == (max(sizes, default=0) > 4)


def test_a_log_that_names_ever_new_places_is_counted_in_bounded_memory(monkeypatch):
    text = "".join(f"node-{n}: loading part {n}\n" for n in range(3000)).encode()
    logs = [("a.log", b"node-1: step 1 loss 2.0\n" + text)]
    expected = kept(slowly(logs))
    monkeypatch.setattr(scan_module, "PLACES_KEPT", 16)
    waiting, full = [], scan_module._Scanner._count

    def count(scanner, *args):
        full(scanner, *args)
        waiting.append(len(scanner.sums))

    monkeypatch.setattr(scan_module._Scanner, "_count", count)
    whole = scan_module._Scanner("a.log", None, Kinds())
    found = [one for at in range(0, len(text), 4096) for one in whole.block(logs[0][1][at : at + 4096])]
    assert found and len(whole.sums) <= 16 < max(waiting) < 1000
    assert kept(quickly(logs, None)[0]) == expected


def test_a_quicker_cutter_is_loaded_once_if_the_logs_are_large(monkeypatch):
    monkeypatch.setattr(kinds_module, "LARGE", 1000)
    loaded, better = [], cutter()

    def load():
        loaded.append(True)
        return better

    kinds = Kinds(None, load)
    for lines, expected in ((100, 0), (100, 1), (1000, 1)):
        data = io.BytesIO(b"a line \n" * lines)
        found = scan(whole_lines(data.read), "a.log", None, kinds)
        assert sum(one.lines if isinstance(one, Stretch) else 1 for one in found) == lines
        assert len(loaded) == expected and (kinds.cutter is better) == bool(expected)


def test_headings_with_ever_new_names_are_taken_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(lines_module, "NAMES_KEPT", 3)
    text = "".join(f"==> log-{n % 9} <==\nhello {n}\n" for n in range(40))
    seen = slowly([("a.log", text.encode())])
    assert set(seen.sources) == {"log-0", "log-1", "log-2"}
