"""The beginning of a program that works on a node for minutes: it ends, with all that it started, when nobody waits
for it any more. Over SSH nothing else would end it after Ctrl-C: there is no terminal that could hang up.
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
"""`watch(seconds)` kills the program's own process group, in which it is the first, after so long or when the other
end of its output is closed. Asking a pipe for no event tells of that alone."""
