"""Alerts against a real web server and real commands."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from allranks.runs import keeper_alerts
from allranks.runs.keeper_alerts import Alerts

ABOUT = {"run": "r-1", "name": "r", "node": "node-0"}


def finding(name: str, verdict: str = "warn", rank: int = 1) -> dict[str, Any]:
    where = {"node": "node-1", "rank": rank, "gpu": None, "file": None, "line": None}
    return {"id": name, "verdict": verdict, "where": where, "saw": "it\x1b[31m stands still"}


class Server(HTTPServer):
    got: list[tuple[str, dict[str, Any]]]
    codes: list[int]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, json.loads(body)))
        code = self.server.codes.pop(0) if self.server.codes else 200
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(("127.0.0.1", 0), Handler)
    found.got, found.codes = [], []
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def address(server: Server, path: str = "/") -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def wait_for(condition, seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_first_goes_out_at_once_and_the_next_together(server) -> None:
    alerts = Alerts({"webhook": address(server)}, {}, ABOUT)
    alerts.finding(finding("rank-silent"))
    wait_for(lambda: server.got)
    for _ in range(5):
        alerts.finding(finding("rank-silent"))
    alerts.finding(finding("rank-silent", "block"))
    alerts.finding(finding("healthy", "note"))
    alerts.end("failed", {"cause": "rank-sigkilled", "where": {"node": "node-1", "rank": 1}})
    alerts.close()
    (_, first), (_, second) = server.got
    assert first["run"] == "r-1" and [f["id"] for f in first["findings"]] == ["rank-silent"]
    assert "rank-silent node-1 rank 1: it [31m stands still" in first["text"]
    assert [f["id"] for f in second["findings"]] == ["rank-silent", "run-failed"]
    assert second["folded"] == 5 and "failed: rank-sigkilled node-1 rank 1" in second["text"]
    assert [o["ok"] for o in alerts.take()] == [True, True]


def test_a_secret_is_put_into_the_address_and_into_no_outcome(server) -> None:
    server.codes = [404]
    alerts = Alerts({"webhook": address(server, "/hook/{TOKEN}")}, {"TOKEN": "t0ps3cret"}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert server.got[0][0] == "/hook/t0ps3cret"
    assert "t0ps3cret" not in json.dumps(server.got[0][1])
    (outcome,) = alerts.take()
    assert outcome["why"] == "the webhook answers 404"


def test_a_name_that_is_no_secret_is_said(server) -> None:
    alerts = Alerts({"webhook": address(server, "/{OTHER}")}, {}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert server.got == [] and "{OTHER}" in alerts.take()[0]["why"]


def test_a_server_in_trouble_is_tried_again_and_a_redirect_is_not_followed(server, monkeypatch) -> None:
    monkeypatch.setattr(keeper_alerts, "TRIES", (0.0, 0.05, 0.05))
    server.codes = [500, 503, 200, 302]
    alerts = Alerts({"webhook": address(server)}, {}, ABOUT)
    alerts.finding(finding("x"))
    wait_for(lambda: len(server.got) == 3)
    alerts.finding(finding("y"))
    alerts.close()
    assert [path for path, _ in server.got] == ["/"] * 4
    assert [o["ok"] for o in alerts.take()] == [True, False]


def test_a_command_gets_the_verdict_and_the_secrets_and_no_more(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UNRELATED", "1")
    out = tmp_path / "out"
    code = (
        "import os, sys\n"
        "text = sys.stdin.read() + os.environ['TOKEN'] + str('UNRELATED' in os.environ)\n"
        "open(sys.argv[1], 'w').write(text)"
    )
    alerts = Alerts({"command": [sys.executable, "-c", code, str(out)]}, {"TOKEN": "abc"}, ABOUT)
    alerts.finding(finding("x; touch /tmp/never"))
    alerts.close()
    text = out.read_text()
    assert '"id": "x; touch /tmp/never"' in text and text.endswith("abcFalse")


def test_a_command_that_hangs_or_fails_or_is_missing_keeps_nobody(tmp_path: Path, monkeypatch) -> None:
    whys = []
    for command, seconds in ((["sleep", "60"], 0.3), (["false"], 30.0), ([str(tmp_path / "none")], 30.0)):
        monkeypatch.setattr(keeper_alerts, "COMMAND_SECONDS", seconds)
        alerts = Alerts({"command": command}, {}, ABOUT)
        alerts.finding(finding("x"))
        alerts.close()
        assert alerts._thread is not None and not alerts._thread.is_alive()
        whys.append(alerts.take()[0]["why"])
    assert "did not end within" in whys[0] and "code 1" in whys[1] and "No such file" in whys[2]


def test_without_alerts_there_is_no_thread() -> None:
    before = set(threading.enumerate())
    alerts = Alerts({}, {}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert set(threading.enumerate()) <= before
