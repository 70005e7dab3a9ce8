"""The terminal: what a person sees, in a window of any width, in a pipe, and when text is hostile."""

from __future__ import annotations

import io
import itertools
import json
import os
import pty
import re
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len

from allranks.core import Blocked, Event, Finding, Where
from allranks.output.console import Out
from allranks.output.report_collect import Collector
from allranks.output.terminal import LiveView, print_findings, print_summary
from allranks.output.terminal_frame import frame, sparkline

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def piped(events, **options) -> str:
    """What a pipe gets of these events."""
    file = io.StringIO()
    with LiveView(out=Out(file=file), **options) as view:
        for event in events:
            view.add(event)
    return file.getvalue()


def drawn(events, width=80, ascii_only=False, height=100, run_id="") -> list[str]:
    """The live area's lines after these events."""
    out = Out(file=io.StringIO(), width=width, live=True)
    out.ascii = ascii_only
    view = LiveView(out=out)
    for event in events:
        view.add(event)
    if run_id:
        view.follows(run_id)
        view.add_log("old\n\x1b[31mred")
        view.add_log(" 7 %\r 8 %\n\n/x/a.py:3: FutureWarning: old\n  return old()\nhalf")
    view.progress_at = float("-inf")
    return [line.plain for line in frame(out, view.snapshot(), height=height)]


def until(events, kind: str, count: int):
    """The events up to the `count`th of a kind."""
    seen = 0
    for event in events:
        yield event
        seen += event.kind == kind
        if seen == count:
            return


# ---- in a pipe ----


def test_a_pipe_gets_plain_lines_for_each_phase(events):
    text = piped(events("healthy"))
    assert "\x1b" not in text and "\r" not in text
    phases = [line.split()[1] for line in text.splitlines() if re.match(r" *\d+:\d\d  ", line)]
    assert phases == [
        *["checking", "preparing", "starting", "importing", "loading", "preparing", "training", "training"],
        *["verifying", "loading", "pruning"],
    ]
    assert "loading  shard 2 of 7" in text
    assert (
        "training  step 36 of 36  loss 4.387  0.229 s per step, 7.7 % waiting for data  5,964 tokens/s"
        in text
    )
    assert "checked  4 notes, 9 fine" in text


def test_a_graph_that_is_compiled_anew_has_no_line_of_its_own():
    beats = [("preparing", None), ("compiling", None), *[("training", 1), ("compiling", 1)] * 5]
    said = [Event(0.5, "phase", None, None, {"phase": "watch"})]
    said += [
        Event(1.0 + 0.1 * n, "beat", "n", 0, {"phase": phase, "step": step})
        for n, (phase, step) in enumerate(beats)
    ]
    words = [line.split()[1] for line in piped(said).splitlines() if re.match(r" *\d+:\d\d  ", line)]
    assert words == ["starting", "preparing", "compiling", "training"]


def test_what_is_compiled_is_said_and_how_long_that_usually_takes():
    def lines(*operators):
        said = [Event(0.5, "phase", None, None, {"phase": "watch"})]
        for rank, operator in enumerate(operators):
            data = {"phase": "compiling", "operator": operator}
            said.append(Event(1.0 + 0.1 * rank, "beat", "n", rank, data))
        return piped(said)

    waiting, at_work = {"name": "cpu_adam", "waits": True}, {"name": "deepspeed_shm_comm", "waits": False}
    assert "compiling deepspeed_shm_comm (usually 1 to 3 min)" in lines(waiting, at_work)
    assert "waiting for another process that compiles cpu_adam" in lines(waiting, waiting)
    assert "compiling my_kernel\n" in lines({"name": "my_kernel", "waits": False})
    assert "compiling\n" in lines(None)


def test_a_pipe_gets_a_progress_line_in_ten_seconds_at_most(events):
    clock, file = Clock(), io.StringIO()
    view = LiveView(out=Out(file=file), clock=clock)
    previous = None
    for event in events("large"):
        clock.now += 0.0 if previous is None else event.at - previous
        previous = event.at
        view.add(event)
    lines = [line for line in file.getvalue().splitlines() if " training " in line]
    assert 8 <= len(lines) <= 12, "100 s of steps, and one line more when the phase ends"
    assert re.search(r"training  step \d+ of 400  loss [\d.]+  .* tokens/s  \d:\d\d left", lines[3])


def test_a_forged_time_of_a_rank_neither_begins_nor_lengthens_a_run():
    clock, collector = Clock(), Collector()
    view = LiveView(out=Out(file=io.StringIO(), live=True), clock=clock)
    for event in (
        Event(1000.0, "phase", None, None, {"phase": "check", "why": ""}),
        Event(0.0, "start", "n", 0, {"pid": 7}),
        Event(-5e9, "beat", "n", 0, {"phase": "training"}),
        Event(1010.0, "phase", None, None, {"phase": "watch", "why": ""}),
    ):
        view.add(event)
        collector.add(event.as_json())
    assert view.snapshot().elapsed_seconds == 10.0
    assert (collector.origin, collector.last_at) == (1000.0, 1010.0)


def test_the_clock_goes_on_while_nothing_is_heard_and_stops_at_the_end(events):
    clock = Clock()
    view = LiveView(out=Out(file=io.StringIO()), clock=clock)
    for event in until(events("healthy"), "phase", 1):
        view.add(event)
    before = view.snapshot().elapsed_seconds
    clock.now += 30
    assert view.snapshot().elapsed_seconds == pytest.approx(before + 30)
    for event in events("healthy"):
        view.add(event)
    ended = view.snapshot().elapsed_seconds
    clock.now += 30
    assert view.snapshot().elapsed_seconds == ended


def test_json_gets_nothing(events):
    assert piped(events("killed"), quiet=True) == ""


def test_events_told_twice_are_said_once(events):
    once = events("healthy")
    before = list(itertools.takewhile(lambda e: e.data.get("phase") != "launch", once))
    assert len(before) == 15
    assert piped([*before, *once]) == piped(once)


@pytest.mark.parametrize("ahead", [0.0, -570.0])
def test_the_journals_copy_of_what_was_said_before_the_launch_is_not_said_again(events, ahead: float):
    """It has another time if the head's clock differs. What the head says itself is heard."""
    once = events("healthy")
    before = list(itertools.takewhile(lambda e: e.data.get("phase") != "launch", once))
    launch = Event(before[-1].at + ahead + 9.0, "phase", None, None, {"phase": "launch", "why": ""})

    def said(*copies: Event) -> tuple[str, str | None]:
        file = io.StringIO()
        with LiveView(out=Out(file=file)) as view:
            for event in before:
                view.add(event)
            view.follows("x-1")
            for event in (*copies, launch):
                view.add(event)
            return file.getvalue(), view.run.phase

    copies = [Event(event.at + ahead, event.kind, event.node, event.rank, event.data) for event in before]
    assert said(*copies) == said() and said()[1] == "launch"


# ---- on a terminal ----


@pytest.mark.parametrize("kind", ["healthy", "killed", "large", "before-start", "diverged"])
def test_no_line_is_wider_than_the_terminal(events, kind):
    outs = {width: Out(file=io.StringIO(), width=width, live=True) for width in (40, 60, 80, 120, 200)}
    view = LiveView(out=outs[80])
    told = events(kind)
    for number, event in enumerate(told):
        view.add(event)
        if number % (len(told) // 4) == 0 or event is told[-1]:
            view.progress_at = float("-inf")
            for width, out in outs.items():
                lines = frame(out, view.snapshot())
                assert lines and max(cell_len(line.plain) for line in lines) <= width


def test_a_step_in_full(events):
    lines = drawn(until(events("healthy"), "beat", 39), 100)
    assert re.match(r"⠋ training  step \d+ of 36 +\d+ %  ━+[╸─]+  0:0\d left", lines[0])
    assert re.match(r"  loss  \d\.\d+ +█[▁-█]+  lr 0\.00\d+", lines[1])
    assert re.match(r"  step  0\.2\d\d s, [\d.]+ % waiting for data  [\d,]+ tokens/s", lines[2])
    assert re.match(r"  node-0  training  rank 0  step \d+  7\d\d MiB", lines[4])
    assert len(lines) == 7


def test_the_run_its_log_and_what_ctrl_c_does_are_shown(events):
    lines = drawn(until(events("healthy"), "beat", 40), 100, run_id="tiny-1120-k7")
    assert re.fullmatch(r"  run   tiny-1120-k7  3 nodes  3 ranks  0:\d\d so far", lines[1])
    assert re.fullmatch(r"  saved step \d+, 0:0\d ago", lines[4])
    assert lines[-2:] == [
        "  log    8 %",
        "  Ctrl-C detaches: the run continues.  Logs: allranks logs tiny-1120-k7 -f",
    ]
    assert not any("Ctrl-C" in line for line in drawn(events("healthy"), run_id="x"))


def with_gpus(events):
    """The large run's middle, and a look at its 24 GPUs: one is idle, one is hot."""
    told = list(until(events("large"), "beat", 24 * 60))
    for node in range(3):
        gpus = [
            {
                "uuid": f"GPU-{8 * node + n:08x}-aaaa",
                "index": n,
                "utilization": 2 if (node, n) == (1, 2) else 97,
                "temperature": 84 if (node, n) == (2, 7) else 61,
                "power_watts": 312.4,
            }
            for n in range(8)
        ]
        told.append(Event(told[-1].at, "sample", f"node-{node}", None, {"gpus": gpus}))
    return told


def test_a_high_window_shows_every_rank_and_a_low_one_those_that_differ(events):
    told = with_gpus(events)
    high, low = drawn(told, 120, height=50), drawn(told, 120, height=24)
    rows = [line for line in high if re.match(r"  \d+ +node-", line)]
    assert len(rows) == 24 and sum("◂" in row for row in rows) == 2
    assert re.search(r"^  10 .* 2 %  61 °C .*◂ GPU 2 % busy$", rows[10])
    assert re.search(r"^  13 .*◂ slowest: 0.2\d\d s own work, most 0.1\d+ s$", rows[13])
    assert "  2 of 24 ranks differ:" in low and len(low) <= 24
    at = low.index("  2 of 24 ranks differ:")
    assert [line.split()[0] for line in low[at + 1 : at + 4]] == ["rank", "13", "10"]
    gpus = (
        "  GPUs  median 97 % busy, 61 °C, 312 W; least busy 2 % (node-1 GPU 2); hottest 84 °C (node-2 GPU 7)"
    )
    assert gpus in low and "GPUs 97 %  84 °C" in next(line for line in low if line.startswith("  node-2"))
    assert "  warn  1: versions-equal" in low
    assert max(len(drawn(told, 80, height=height)) - height for height in (1, 5, 10, 30, 40)) <= 0


def test_ranks_that_are_alike_have_no_mark():
    watch = Event(0.5, "phase", None, None, {"phase": "watch"})
    rows = [[n, 1.0, 0.2, 0.01, 5, 1e-4, 0.1] for n in range(1, 9)]

    def of(slow):
        for n in range(4):
            own = [[*row[:6], 0.1 + (slow if n == 2 else 0.001 * n)] for row in rows]
            yield Event(2.0, "start", f"node{n}", n, {"pid": n})
            yield Event(3.0, "beat", f"node{n}", n, {"phase": "training", "step": 8, "steps": own})

    assert not any("◂" in line for line in drawn([watch, *of(0.004)], 120))
    marked = [line for line in drawn([watch, *of(0.15)], 120) if "◂" in line]
    assert len(marked) == 1 and marked[0].endswith("◂ slowest: 0.250 s own work, most 0.102 s")
    silent = drawn(
        [watch, *of(0.0), Event(40.0, "beat", "node0", 0, {"phase": "training", "step": 300})], 120
    )
    assert [line.split("◂ ")[1] for line in silent if "◂" in line] == ["not heard for 37 s"] * 3


def test_a_loading_model_shows_its_shards(events):
    lines = drawn(until(events("healthy"), "beat", 21))
    assert lines[0].startswith("⠋ loading  shard 4 of 7   57 %")


def test_a_dead_rank_stands_in_its_nodes_line(events):
    lines = drawn(events("killed"))
    assert lines[0].startswith("✗ failed  step 13 of 36")
    assert "  node-1  rank 1 ended by signal 9" in "\n".join(lines)


def many_nodes(count: int, dead: int | None = None):
    for n in range(count):
        yield Event(1.0, "joined", f"node{n + 1}")
        yield Event(2.0, "start", f"node{n + 1}", n, {"pid": n})
        yield Event(
            3.0, "beat", f"node{n + 1}", n, {"phase": "training", "step": 5 + n % 2, "rss_bytes": 2**30}
        )
    if dead is not None:
        yield Event(4.0, "rank-gone", f"node{dead + 1}", dead, {"code": -9})


def test_many_nodes_share_lines_and_the_troubled_one_leads():
    lines = drawn([Event(0.5, "phase", None, None, {"phase": "watch"}), *many_nodes(30, dead=16)], height=20)
    assert len(lines) == 6 and lines[3] == "  1 of 30 ranks differs:"
    assert re.match("  node17 +rank 16 ended by signal 9", lines[1])
    assert lines[2].startswith("  node[1-16,18-30]  training")
    assert "ranks 0-15,17-29" in lines[2] and "step 5-6" in lines[2]


def test_twelve_nodes_have_a_line_each():
    assert len(drawn([Event(0.5, "phase", None, None, {"phase": "watch"}), *many_nodes(12)])) == 13


def test_colour_is_left_out_when_asked(events, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    out = Out(file=file, width=80, live=True)
    view = LiveView(out=out)
    for event in events("killed"):
        view.add(event)
    out.console.print(view.render())
    codes = {n for m in COLOUR.findall(file.getvalue()) for n in m[2:-1].split(";")}
    assert codes <= {"", "0", "1", "2"}, "bold and dim are no colours"


def on_a_pty(events, monkeypatch, term: str) -> str:
    """Everything that a real terminal would be sent."""
    monkeypatch.setenv("TERM", term)
    master, slave = pty.openpty()
    received = bytearray()

    def read() -> None:
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                return
            if not piece:
                return
            received.extend(piece)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as file, LiveView(out=Out(file=file)) as view:
        for event in events:
            view.add(event)
    reader.join(60)
    os.close(master)
    return received.decode()


def test_a_real_terminal_is_left_as_it_was(events, monkeypatch):
    text = on_a_pty(events("killed"), monkeypatch, "xterm-256color")
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is back"
    last = COLOUR.sub("", text.rsplit("\x1b[2K", 1)[-1])
    assert last.startswith("✗ failed  step 13 of 36"), "the last frame stays"
    assert "rank 1 (pid 41001) was ended by signal 9" in COLOUR.sub("", text)
    for thread in threading.enumerate():
        if "Refresh" in type(thread).__name__:
            thread.join(60)  # it has been told to end
            assert not thread.is_alive()


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_dumb_terminal_gets_plain_lines(events, monkeypatch, term):
    text = on_a_pty(events("healthy"), monkeypatch, term)
    assert "\x1b" not in text
    assert "training  step" in text


def test_an_ascii_terminal_gets_ascii(events):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    out = Out(file=file, width=60, live=True)
    view = LiveView(out=out)
    for event in [*events("killed"), Event(2e9, "joined", "knoten-ä日")]:
        view.add(event)
    out.console.print(view.render())
    print_summary({"id": "ä", "state": "failed", "why": "→ …"}, out)
    file.flush()
    assert raw.getvalue().isascii()
    assert b"knoten-\\xe4" in raw.getvalue()


# ---- findings ----


def said(findings, **options) -> str:
    file = io.StringIO()
    print_findings(findings, out=Out(file=file, **options))
    return file.getvalue()


TARGETS = Finding(
    id="lora-targets",
    verdict="block",
    where=Where(file="run.yaml", line=25),
    saw="train.llamafactory.lora_target: q_proj, k_proj, v_proj exist in no deepseek_v3 layer.",
    why="only o_proj would train: 22,986,752 parameters instead of 97,006,592.",
    fix="lora_target: q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj",
)


def test_the_form_of_a_finding():
    port = Finding(
        id="port-free",
        verdict="warn",
        where=Where(node="node-0"),
        saw="port 39500 is held by pid 41877 (python, run 0902-a, started 14 h ago).",
        why="the new rendezvous would wait until it times out.",
        fix="allranks clean 0902-a",
    )
    fine = Finding(id="disk", verdict="ok", where=Where(node="node-0"))
    assert said([fine, port, TARGETS]) == (
        "run.yaml:25  train.llamafactory.lora_target: q_proj, k_proj, v_proj exist in no deepseek_v3 layer.\n"
        "  why  only o_proj would train: 22,986,752 parameters instead of 97,006,592.\n"
        "  fix  lora_target: q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj\n"
        "\n"
        "node-0  port 39500 is held by pid 41877 (python, run 0902-a, started 14 h ago).\n"
        "  why  the new rendezvous would wait until it times out.\n"
        "  fix  allranks clean 0902-a\n"
        "\n"
        "1 error, 1 warning, 1 fine   allranks explain lora-targets port-free\n"
    )


def test_equal_statements_about_many_nodes_are_one():
    findings = [
        Finding(id="disk", verdict="warn", where=Where(node=f"node{n}"), saw="4 GiB are free.")
        for n in range(1, 31)
    ]
    findings.append(Finding(id="disk", verdict="warn", where=Where(node="node31"), saw="5 GiB are free."))
    text = said(findings)
    assert "node[1-30]  4 GiB are free.\n" in text and "node31  5 GiB are free.\n" in text
    assert "31 warnings" in text


def test_what_is_fine_is_listed_only_when_asked():
    fine = [
        Finding(id="disk", verdict="ok", where=Where(node=f"node{n}"), saw="400 GiB free") for n in (1, 2)
    ]
    assert said(fine) == "2 fine\n"
    file = io.StringIO()
    print_findings(fine, verbose=True, out=Out(file=file))
    assert "disk  node[1-2]  400 GiB free" in file.getvalue()


def test_no_finding_at_all():
    assert said([]) == "No findings.\n"


def test_a_sentence_is_wrapped_and_what_is_to_be_done_is_not():
    lines = COLOUR.sub("", said([TARGETS], width=40, live=True)).splitlines()
    assert lines[0].rstrip() == "run.yaml:25"
    assert all(line.startswith("  ") for line in lines[1:4])
    assert "  fix  lora_target: q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj" in lines


def test_hostile_text_is_shown_and_not_obeyed():
    nasty = "\x1b[2J\x1b]0;owned\x07[red]x[/red] \u202egnp.exe\r\nsecond"
    finding = Finding(id="x", verdict="block", where=Where(node=nasty), saw=nasty, why=nasty, fix=nasty)
    for live in (False, True):
        text = COLOUR.sub("", said([finding], live=live, width=200))
        assert not set("\x1b\x07\u202e\r") & set(text)
        assert "\\x1b[2J\\x1b]0;owned\\x07[red]x[/red] \\u202egnp.exe" in text


def test_a_verb_that_says_why_it_stopped_is_not_preceded(events):
    """The findings of a blocked start are printed by the verb; the view must not say them as well."""
    checks = [e for e in events("healthy") if e.kind == "finding"]
    for error, expected in ((Blocked("no"), False), (KeyboardInterrupt(), True)):
        file = io.StringIO()
        with pytest.raises(type(error)), LiveView(out=Out(file=file)) as view:
            view.add(Event(1.0, "phase", None, None, {"phase": "check"}))
            for event in checks:
                view.add(event)
            raise error
        assert ("shares its host" in file.getvalue()) is expected


# ---- the last words ----


def summary(journals, kind: str, tmp_path: Path | None = None, **changes) -> str:
    state = {**journals.KINDS[kind]().state, **changes}
    file = io.StringIO()
    print_summary(json.loads(json.dumps(state)), out=Out(file=file))
    return file.getvalue()


def test_the_end_of_a_script_names_what_it_saved(journals):
    save = {"path": "/work/out/snapshot.pt", "title": "file of torch.save", "step": 40, "whole": True}
    text = summary(
        journals, "healthy", adapter=None, saves=[save, {**save, "path": "/work/b.pt", "whole": False}]
    )
    assert "Its newest save is whole, as far as its files tell." in text
    assert "  saved     /work/out/snapshot.pt\n" in text
    assert "file of torch.save, step 40: whole, as far as its files tell\n" in text
    assert "file of torch.save, step 40: not whole\n" in text


def test_an_end_that_shows_no_training_is_no_success(journals):
    text = summary(journals, "healthy", adapter=None, state="unproven", step=None)
    assert text.startswith("Unproven: ended with 0; no process group, step or save was seen")


def test_the_end_of_a_good_run(journals, tmp_path):
    report = tmp_path / "keeper" / "report.html"
    report.parent.mkdir()
    report.write_text("")
    text = summary(journals, "healthy", directory=str(tmp_path))
    assert text.startswith(
        "Succeeded: trained 36 steps. The adapter is whole and changes the model’s output."
    )
    assert "  adapter   /home/ubuntu/.allranks/runs/x/output\n" in text
    assert "  verified  30 tensors, 28,032 parameters, step 36; logits move by up to 0.1834\n" in text
    assert f"  report    {report}\n" in text
    assert "  allranks checkpoints verify tiny-deepseek-v3-1120-2200-k7  verify the adapter again\n" in text


def test_the_end_of_a_bad_run(journals):
    assert "allranks run examples/tiny-deepseek-v3.yaml --resume auto  goes on from step 12" in summary(
        journals, "killed"
    )
    text = summary(journals, "killed", adapter=None)
    assert text.startswith("Failed at step 13 of 36: node-1: rank 1 (pid 41001) was ended by signal 9")
    assert "\n  fix  on node-1: journalctl -k" in text
    assert "  allranks logs tiny-deepseek-v3-1120-2200-k7 --rank 1  what the ranks printed\n" in text
    assert "verify" not in text


def test_the_report_is_named_from_home(journals, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    text = summary(journals, "healthy", report="/home/someone/.allranks/runs/x/keeper/report.html")
    assert "  report    ~/.allranks/runs/x/keeper/report.html\n" in text


# ---- small parts ----


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
    [
        ([1.0, 2.0, 3.0, 4.0], 4, "▁▃▆█"),
        ([3.0, 3.0], 4, "▅▅"),
        ([1.0], 4, ""),
        ([4.0, float("nan"), 1.0], 4, "█!▁"),
        ([float("inf"), float("nan")], 4, "!!"),
        ([8.0, 8.0, 1.0, 1.0], 2, "█▁"),
        ([1e300, -1e300, 1.0, 2.0], 4, "!!▁█"),
    ],
)
def test_sparklines(values, width, drawn):
    assert sparkline(values, width) == drawn


# ---- preparing ----


def steps(*said: tuple[str, str]) -> list[Event]:
    begin = [Event(1.0, "phase", None, None, {"phase": "check", "why": ""})]
    begin += [Event(2.0, "phase", None, None, {"phase": "prepare", "why": ""})]
    return begin + [
        Event(3.0 + i, "preparing", node, None, {"what": what}) for i, (node, what) in enumerate(said)
    ]


@pytest.mark.parametrize("steps", [1, 511, 512, 513, 10_000])
def test_the_loss_is_shown_from_the_first_step_to_the_last(steps: int):
    """Each half of the training has half of the values, however long it is."""
    view = LiveView(out=Out(io.StringIO()))
    for step in range(1, steps + 1):
        data = {"phase": "training", "step": step, "steps": [[step, float(step), 1.0]]}
        view.note(Event(float(step), "beat", "n0", 0, data))
    shown = view.losses.values()
    assert len(shown) <= 512 and shown == sorted(shown) and shown[-1] > 0.99 * steps
    early = sum(value <= steps / 2 for value in shown)
    assert abs(early - len(shown) / 2) <= 1


def test_each_node_shows_what_is_prepared_on_it():
    said = [("node-0", "docker pull torch"), ("node-1", "docker pull torch"), ("node-0", "pip install peft")]
    lines = drawn(steps(*said))
    assert [line.split() for line in lines[1:]] == [
        ["node-0", "pip", "install", "peft"],
        ["node-1", "docker", "pull", "torch"],
    ]
    after = [*steps(*said), Event(9.0, "phase", None, None, {"phase": "launch", "why": ""})]
    assert not any("docker pull" in line for line in drawn(after))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"from": "/out/checkpoint-200", "step": 1200}, "resume   from step 1,200  /out/checkpoint-200"),
        ({"from": "/out/own.pt"}, "resume   /out/own.pt"),
        ({"from": None}, ""),
    ],
)
def test_where_a_run_goes_on_is_told(data, line):
    said = io.StringIO()
    with LiveView(out=Out(file=said)) as view:
        view.add(Event(5.0, "resume", "node-0", None, data))
    assert said.getvalue().strip() == line


def test_many_nodes_at_one_step_share_a_line():
    lines = drawn(steps(*((f"node-{n}", "docker pull torch") for n in range(30))))
    assert [line.split() for line in lines[1:]] == [["node-[0-29]", "docker", "pull", "torch"]]


def test_a_log_gets_each_step_once():
    text = piped(steps(*((f"node-{n}", what) for what in ("docker pull \x1b[31mx", "two") for n in range(3))))
    assert text.count("docker pull") == 1 and text.count("two") == 1 and "\x1b" not in text


def test_the_first_word_of_a_failure_is_said_at_once_and_the_verdict_is_the_last(events):
    said = {"cause": "rank-sigkilled", "confidence": "likely", "where": {"node": "b", "rank": 1}}
    said["evidence"] = ["rank 1 on b was ended by SIGKILL"]
    first = Event(1e9, "diagnosis", "a", None, {**said, "provisional": True})
    text = piped([Event(1e9, "phase", "a", None, {"phase": "watch"}), first, first])
    assert text.count("rank 1 on b was ended by SIGKILL (preliminary") == 1
    assert "so far" not in piped([Event(1e9, "diagnosis", "a", None, said)])
