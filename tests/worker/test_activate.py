"""A script runs as a rank: what it tells, and that it runs as it would have run without us."""

from __future__ import annotations

import importlib
import os
import sys
import time

import pytest

from allranks.worker import activation
from allranks.worker.after_import import AfterImport


def test_a_rank_says_who_it_is_that_it_lives_and_how_it_ended(node):
    told = node.run(f"{node.beats}print('hello'); beats(4)")
    assert told.code == 0 and told.outside == "" and told.log == "hello\n"
    start = told.one("start")
    assert start["pid"] > 1 and start["start_time"] > 0 and start["boot_id"] and start["host"]
    assert start["pid_namespace"] == os.readlink("/proc/self/ns/pid")
    assert start["world_size"] == 1 and start["local_rank"] == 0
    assert start["python"] == ".".join(map(str, sys.version_info[:3]))
    assert told.kinds == ["start", "end"] and told.one("end") == {"code": 0}
    beats = told.all("beat")
    assert 4 <= len(beats) <= 600  # one in 0.1 s, for at most 60 s
    assert beats[0]["phase"] == "importing" and beats[-1]["phase"] == "done"
    assert all(beat["rss_bytes"] > 1e6 and beat["steps"] == [] for beat in beats)
    assert all((event["node"], event["rank"]) == ("node-0", 0) for event in told.events)
    assert not any("trouble" in beat for beat in beats)


def test_what_is_no_rank_stays_untouched(node):
    names = ("ALLRANKS_RUN_ID", "RANK", "LOCAL_RANK")
    running = [node.start("print('hello')", number, **{name: None}) for number, name in enumerate(names)]
    for number, process in enumerate(running):
        told = node.finish(process, number)
        assert (told.code, told.outside, told.log, told.events) == (0, "hello\n", "", [])


def test_an_exception_is_told_with_its_frames_and_still_printed(node):
    told = node.run("def inner():\n    raise ValueError('no \\x1b[31m such thing')\ninner()")
    assert told.code == 1
    said = told.one("exception")
    assert (said["type"], said["message"]) == ("ValueError", "no \x1b[31m such thing")
    assert [(os.path.basename(file), line, name) for file, line, name in said["frames"]] == [
        ("train0.py", 3, "<module>"),
        ("train0.py", 2, "inner"),
    ]
    assert said["communication"] is False and said["causes"] == []
    assert told.kinds == ["start", "exception", "end"] and told.one("end") == {"code": 1}
    assert told.log.startswith("Traceback (most recent call last)") and "allranks" not in told.log


ENDS = [
    ("import sys; sys.exit(3)", 3),
    ("import sys; sys.exit()", 0),
    ("import sys; sys.exit(256 + 7)", 7),
    ("import sys; sys.exit('a text')", 1),
    ("import os; os._exit(4)", 4),
    ("import sys, threading; t = threading.Thread(target=sys.exit, args=(6,)); t.start(); t.join()", 0),
    ("import os; os._exit(status=5)", 5),
    ("import sys\ntry:\n    1/0\nexcept ZeroDivisionError:\n    pass", 0),
]


@pytest.mark.lengthy
def test_the_code_a_script_ends_with(node):
    running = [node.start(script, number) for number, (script, _) in enumerate(ENDS)]
    for number, process in enumerate(running):
        told = node.finish(process, number)
        assert told.code == ENDS[number][1] and told.one("end") == {"code": ENDS[number][1]}, ENDS[number]
        assert told.kinds == ["start", "end"]


def test_a_script_that_takes_the_excepthook_away_is_still_told(node):
    told = node.run("import sys; sys.excepthook = lambda *args: print('mine'); 1/0")
    assert told.one("exception")["type"] == "ZeroDivisionError"
    assert told.log == "mine\n" and told.one("end") == {"code": 1}


def test_a_script_that_chains_the_excepthook_is_told_once(node):
    told = node.run(
        "import sys\nbefore = sys.excepthook\n"
        "def hook(*args):\n    print('mine'); before(*args)\nsys.excepthook = hook\n1/0"
    )
    assert len(told.all("exception")) == 1 and told.log.startswith("mine\nTraceback")


PRINTED = """
import ctypes, sys, threading

def printed():
    try:
        1 / 0
    except ZeroDivisionError:
        sys.excepthook(*sys.exc_info())

def fails_below_c():
    # ctypes prints an exception of a callback by PyErr_Print, or by sys.unraisablehook
    ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()

thread = threading.Thread(target=printed)
thread.start()
thread.join()
printed()
fails_below_c()
try:
    1 / 0
except ZeroDivisionError as error:
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.excepthook(type(error), error, error.__traceback__)
"""


def test_an_exception_that_is_only_printed_is_not_the_end(node):
    told = node.run(PRINTED)
    assert told.code == 0 and told.kinds == ["start", "end"] and told.one("end") == {"code": 0}
    assert told.log.count("ZeroDivisionError") >= 3


@pytest.mark.parametrize("end", ["sys.exit(1)", "os._exit(1)"])
def test_an_exception_that_a_script_prints_before_it_ends_is_told(node, end):
    told = node.run(
        f"import os, sys\ntry:\n    1 / 0\nexcept Exception:\n    sys.excepthook(*sys.exc_info())\n    {end}"
    )
    assert told.one("exception")["type"] == "ZeroDivisionError" and told.one("end") == {"code": 1}


def test_an_exception_that_cannot_be_printed(node):
    told = node.run("class Bad(Exception):\n    def __str__(self): raise OSError('x')\nraise Bad()")
    assert told.one("exception")["message"] == "(its text could not be made: OSError)"


def test_signal_handlers_are_the_scripts_own(node):
    script = (
        "import signal, os\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL\n"
        "signal.signal(signal.SIGTERM, lambda *a: print('term'))\n"
        "os.kill(os.getpid(), signal.SIGTERM); os.kill(os.getpid(), signal.SIGTERM)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    told = node.run(script)
    assert told.code == -15 and told.log == "term\nterm\n" and "end" not in told.kinds


def test_the_log_is_live_and_holds_both_streams_and_what_children_say(node):
    script = (
        "import os, subprocess, sys, time\n"
        "print('one'); print('two', file=sys.stderr); print('three', file=sys.__stdout__)\n"
        "subprocess.run([sys.executable, '-c', 'print(\"child\")'])\n"
        "os.system('echo shell')\n"
        "print('four', end=''); sys.stdout.flush(); time.sleep(30)\n"
    )
    process = node.start(script)
    node.until(lambda: "four" in node.log())
    log = node.log()
    process.kill()
    told = node.finish(process)
    assert log == "one\ntwo\nthree\nchild\nshell\nfour" and told.outside == ""


def test_children_of_a_rank_say_nothing(node):
    script = """
import multiprocessing, os, subprocess, sys, time
def work():
    time.sleep(0.12)
    print("from", multiprocessing.current_process().name)
if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.12)"], check=True)
    for method in ("fork", "spawn"):
        child = multiprocessing.get_context(method).Process(target=work, name=method)
        child.start(); child.join(); assert child.exitcode == 0
    pid = os.fork()
    if pid == 0:
        time.sleep(0.12)
        sys.exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    pid = os.fork()
    if pid == 0:
        raise ValueError("in the child")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
"""
    told = node.run(script)
    assert told.code == 0, told.log
    assert "from fork\n" in told.log and "from spawn\n" in told.log and "in the child" in told.log
    assert told.kinds == ["start", "end"] and told.one("end") == {"code": 0}
    assert len(list(node.ranks.iterdir())) == 1 and len(list(node.logs.iterdir())) == 1


def test_a_rank_that_becomes_another_program_is_still_the_rank(node):
    script = (
        "import os, sys\n"
        "if 'AGAIN' not in os.environ:\n"
        "    os.environ['AGAIN'] = '1'; print('first'); os.execv(sys.executable, [sys.executable, *sys.argv])\n"
        "print('second')\n"
    )
    told = node.run(script)
    assert told.log == "first\nsecond\n" and told.one("end") == {"code": 0}
    assert len({start["pid"] for start in told.all("start")}) == 1


def test_stacks_are_written_when_asked_for(node):
    script = """
import threading, time
def waiting_in_a_thread(event):
    event.wait()
def hanging():
    time.sleep(30)
threading.Thread(target=waiting_in_a_thread, args=(threading.Event(),), name="loader", daemon=True).start()
hanging()
"""
    (node.stacks / "request").touch()  # from before: not meant for this process
    process = node.start(script)
    node.until(node.events)
    time.sleep(0.15)
    assert not (node.stacks / "rank-0.txt").exists()
    (node.stacks / "request").touch()
    node.until((node.stacks / "rank-0.txt").exists)
    text = (node.stacks / "rank-0.txt").read_text()
    process.kill()
    node.finish(process)
    main, loader = text.split("\n\n")[1:3]
    assert (
        "(MainThread)" in main and "in hanging" in main and main.index("<module>") < main.index("in hanging")
    )
    assert "(loader)" in loader and "in waiting_in_a_thread" in loader
    assert [path.name for path in sorted(node.stacks.iterdir())] == ["rank-0.txt", "request"]


def test_a_running_thread_of_the_script_does_not_keep_us_from_ending(node):
    script = (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.15), print('late'))).start()\n"
    )
    told = node.run(script)
    assert told.log == "late\n" and told.kinds == ["start", "end"]


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.13"])
def test_other_pythons_tell_the_same(node, version, another_python):
    node.python = another_python(version)
    told = node.run(f"{node.beats}print('hello')\nbeats(2)\nraise ValueError('x')")
    assert told.kinds == ["start", "exception", "end"] and told.log.startswith("hello\nTraceback")
    assert told.one("start")["python"].startswith(version + ".") and told.one("end") == {"code": 1}
    assert len(told.all("beat")) >= 2 and not any("trouble" in beat for beat in told.all("beat"))


def test_it_is_cheap_to_begin(node):
    """Every Python a rank starts pays for it: its main thread imports nothing that takes long."""
    (node.root / "site" / "sitecustomize.py").write_text(
        "import os, sys, _thread\ncame, main = [], _thread.get_ident()\n"
        "def imported(event, words):\n"
        "    if event == 'import' and _thread.get_ident() == main: came.append(words[0])\n"
        "sys.addaudithook(imported)\n"
        "from allranks.worker.activation import activate\nactivate()\n"
        "os.environ['CAME'] = ' '.join(came)\n"
    )
    came = node.run("import os; print(os.environ['CAME'])", PYTHONDONTWRITEBYTECODE=None).log.split()
    assert "allranks.worker.rank_reporter" in came
    dear = {
        "typing",
        "dataclasses",
        "enum",
        "re",
        "json",
        "socket",
        "subprocess",
        "logging",
        "inspect",
        "torch",
    }
    assert not dear & set(came)


def test_every_hook_is_where_it_is_looked_for(monkeypatch):
    """A hook that is not found costs no rank its life: nothing but its events would be missing."""
    waiting = []
    monkeypatch.setattr(AfterImport, "install", lambda self: waiting.extend(self.waiting.values()))
    activation.watch_imports(None)
    missing = []
    for act in waiting:
        module, function = act.__name__.split(".")
        if not hasattr(importlib.import_module(f"allranks.worker.{module}"), function):
            missing.append(act.__name__)
    assert len(waiting) >= 12 and not missing


def test_a_script_that_forks_at_once_waits_for_the_heartbeat_s_imports(node):
    told = node.run(
        "import os\n"
        "if not os.fork():\n"
        "    import csv, decimal, email.message, http.client\n"
        "    os._exit(7)\n"
        "from allranks.worker.activation import LOADED\n"
        "print(LOADED.is_set(), os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    assert told.log == "True 7\n"
