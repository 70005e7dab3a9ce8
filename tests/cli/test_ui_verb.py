"""The verb `ui` as a process: what it leaves when it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.harness import free_port


@pytest.mark.lengthy
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_page_that_is_ended_leaves_no_file(number: signal.Signals, tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    words = [sys.executable, "-m", "allranks.cli", "ui", "--port", str(free_port())]
    settings = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(left)}
    with subprocess.Popen(words, env=settings, stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        address = page.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=60) as answer:  # from here on the page is served
            assert answer.status == 200
        page.send_signal(number)
        page.communicate(timeout=60)
    assert list(left.iterdir()) == []
