"""Alerts against a real web server and real commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from allranks.node import processes
from allranks.runs import keeper_alerts
from allranks.runs.keeper_alerts import Alerts
from tests.harness import until

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


def test_the_first_goes_out_at_once_and_the_next_together(server) -> None:
    alerts = Alerts({"webhook": address(server)}, {}, ABOUT)
    alerts.finding(finding("rank-silent"))
    until(lambda: server.got)
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
    assert [o.ok for o in alerts.take()] == [True, True]


@pytest.mark.parametrize(
    ("level", "sent"),
    [
        (None, ["straggler", "unsure", "rank-silent", "run-failed"]),
        ("warn", ["straggler", "unsure", "rank-silent", "run-failed"]),
        ("block", ["rank-silent", "run-failed"]),
        ("end", ["run-failed"]),
    ],
)
def test_the_level_says_what_is_worth_a_message(server, level: str | None, sent: list[str]) -> None:
    alerts = Alerts({"webhook": address(server), **({"level": level} if level else {})}, {}, ABOUT)
    for name, verdict in (
        ("straggler", "warn"),
        ("unsure", "unknown"),
        ("rank-silent", "block"),
        ("ok", "note"),
    ):
        alerts.finding(finding(name, verdict))
    alerts.end("failed", None)
    alerts.close()
    assert [one["id"] for _, message in server.got for one in message["findings"]] == sent


def test_a_chat_shows_a_logs_text_and_follows_none_of_it(server, tmp_path: Path) -> None:
    saw = "<!channel> @here <https://evil.example|log in> & &lt; " + "x" * 2000
    out = tmp_path / "out"
    command = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())", str(out)]
    alerts = Alerts({"webhook": address(server), "command": command}, {}, ABOUT)
    alerts.finding({**finding("x"), "saw": saw})
    alerts.close()
    ((_, message),) = server.got
    shown = "&lt;!channel&gt; @\u200bhere &lt;https://evil.example|log in&gt; &amp; &amp;lt; xxx"
    assert shown in message["text"] and message["findings"][0]["saw"] == saw
    told = json.loads(out.read_text())
    assert saw[:500] in told["text"] and told["findings"] == message["findings"]


def test_a_secret_is_put_into_the_address_and_into_no_outcome(server) -> None:
    server.codes = [404]
    alerts = Alerts({"webhook": address(server, "/hook/{TOKEN}")}, {"TOKEN": "t0ps3cret"}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert server.got[0][0] == "/hook/t0ps3cret"
    assert "t0ps3cret" not in json.dumps(server.got[0][1])
    (outcome,) = alerts.take()
    assert outcome.why == "the webhook answers 404"


def test_a_name_that_is_no_secret_is_said(server) -> None:
    alerts = Alerts({"webhook": address(server, "/{OTHER}")}, {}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert server.got == [] and "{OTHER}" in alerts.take()[0].why


def test_a_server_in_trouble_is_tried_again_and_a_redirect_is_not_followed(server, monkeypatch) -> None:
    monkeypatch.setattr(keeper_alerts, "TRIES", (0.0, 0.05, 0.05))
    server.codes = [500, 503, 200, 302]
    alerts = Alerts({"webhook": address(server)}, {}, ABOUT)
    alerts.finding(finding("x"))
    until(lambda: len(server.got) == 3)
    alerts.finding(finding("y"))
    alerts.close()
    assert [path for path, _ in server.got] == ["/"] * 4
    assert [o.ok for o in alerts.take()] == [True, False]


def test_a_command_gets_the_verdict_and_the_secrets_and_no_more(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UNRELATED", "1")
    out = tmp_path / "out"
    code = (
        "import os, sys\n"
        "text = sys.stdin.read() + os.environ['TOKEN'] + str('UNRELATED' in os.environ)\n"
        "text += os.environ['ALLRANKS_RUN_ID']\n"
        "open(sys.argv[1], 'w').write(text)"
    )
    alerts = Alerts({"command": [sys.executable, "-c", code, str(out)]}, {"TOKEN": "abc"}, ABOUT)
    alerts.finding(finding("x; touch /tmp/never"))
    alerts.close()
    text = out.read_text()
    assert '"id": "x; touch /tmp/never"' in text and text.endswith("abcFalser-1")


def test_a_command_that_hangs_or_fails_or_is_missing_keeps_nobody(tmp_path: Path, monkeypatch) -> None:
    whys = []
    for command, seconds in ((["sleep", "60"], 0.3), (["false"], 30.0), ([str(tmp_path / "none")], 30.0)):
        monkeypatch.setattr(keeper_alerts, "COMMAND_SECONDS", seconds)
        alerts = Alerts({"command": command}, {}, ABOUT)
        alerts.finding(finding("x"))
        alerts.close()
        assert alerts._thread is not None and not alerts._thread.is_alive()
        whys.append(alerts.take()[0].why)
    assert "did not end within" in whys[0] and "code 1" in whys[1] and "No such file" in whys[2]


def shell_with_a_child(out: Path) -> dict[str, list[str]]:
    """A command that waits for a minute for what it started, whose pid it writes down."""
    return {"command": ["sh", "-c", 'sleep 60 & echo $! > "$0.new"; mv "$0.new" "$0"; wait', str(out)]}


def process_in(out: Path) -> Any:
    until(out.exists)
    return processes.identify("node-0", "r-1", int(out.read_text()))


def test_what_a_command_started_ends_with_the_alerts(tmp_path: Path) -> None:
    alerts = Alerts(shell_with_a_child(tmp_path / "out"), {}, ABOUT)
    alerts.finding(finding("x"))
    child = process_in(tmp_path / "out")
    assert os.getpgid(child.pid) != os.getpgid(0)
    assert os.getsid(child.pid) == os.getsid(0), (
        "another session's would be taken for a rank's, and stopped as one"
    )
    alerts.finding(finding("y"))
    alerts.close(0.0)
    until(lambda: not processes.still(child), 10)
    whys = [outcome.why for outcome in alerts.take()]
    assert whys == [
        "the command did not end before the run did, and was killed",
        "the command was not started: the run was over",
    ]


@pytest.mark.lengthy
def test_what_a_command_started_ends_with_its_time(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(keeper_alerts, "COMMAND_SECONDS", 4.0)
    alerts = Alerts(shell_with_a_child(tmp_path / "out"), {}, ABOUT)
    alerts.finding(finding("x"))
    child = process_in(tmp_path / "out")
    until(lambda: alerts.outcomes)
    until(lambda: not processes.still(child), 10)
    alerts.close()
    assert "did not end within 4 s" in alerts.take()[0].why


def test_a_command_does_not_outlive_a_keeper_that_is_killed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["sh", "-c", 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 60', str(out)]
    keeper = (
        "import json, sys, time\n"
        "from allranks.runs.keeper_alerts import Alerts\n"
        "Alerts({'command': json.loads(sys.argv[1])}, {}, {'run': 'r-1'}).end('failed', None)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", keeper, json.dumps(words)]) as killed:
        try:
            child = process_in(out)
        finally:
            killed.kill()
    until(lambda: not processes.still(child), 10)


def test_without_alerts_there_is_no_thread() -> None:
    before = set(threading.enumerate())
    alerts = Alerts({}, {}, ABOUT)
    alerts.finding(finding("x"))
    alerts.close()
    assert set(threading.enumerate()) <= before
