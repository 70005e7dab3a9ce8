"""The first lines of a program that works on a node for minutes. They end the program and all that it started as soon
as nobody waits for its result. Over SSH nothing else would end it after Ctrl-C, because there is no terminal to hang
up.
"""

from __future__ import annotations

WATCH = """
import os, select, signal, threading, time

def watch(seconds):
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    read = select.poll()
    read.register(os.dup(1), 0)
    def until_nobody_reads():
        end = time.monotonic() + seconds
        while time.monotonic() < end and not read.poll(1000):
            pass
        os.killpg(os.getpgrp(), signal.SIGKILL)
    threading.Thread(target=until_nobody_reads, daemon=True).start()
"""
"""`watch(seconds)` makes the program the leader of a new process group. It kills that group after this time, or when
the reader of the program's output closes it: a poll for no events reports only that."""
