"""What `allranks metrics --otlp` sends, and what it says if nobody takes it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from allranks import cli
from allranks.cli.metrics_verb import Sender
from allranks.output import otlp
from allranks.output.metrics import RunCollector
from tests.output.test_metrics import trained

READER = """
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
read = json_format.Parse(sys.stdin.read(), ExportMetricsServiceRequest())
for metric in read.resource_metrics[0].scope_metrics[0].metrics:
    print(metric.name, len(metric.gauge.data_points), metric.gauge.data_points[0].as_double)
"""


class Collector(HTTPServer):
    """Keeps what it is sent, and answers with `code`."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.code = 200

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                self.got.append(
                    (handler.path, {k.lower(): v for k, v in handler.headers.items()}, json.loads(body))
                )
                handler.send_response(self.code)
                if self.code == 307:
                    handler.send_header("Location", "http://127.0.0.1:1/elsewhere")
                handler.end_headers()

            def log_message(handler, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def registry() -> Any:
    return RunCollector({"run-1": trained()})


def test_each_sample_is_a_point_with_its_labels(collector: Collector, monkeypatch) -> None:
    monkeypatch.setenv(otlp.HEADERS, "api-key=a%20b, x=y")
    Sender(f"{collector.url}/tenant/", registry()).send()
    ((path, headers, body),) = collector.got
    assert path == "/tenant/v1/metrics" and headers["api-key"] == "a b" and headers["x"] == "y"
    metrics = {one["name"]: one for one in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    points = metrics["allranks_rank_step_seconds"]["gauge"]["dataPoints"]
    told = {
        tuple(sorted((a["key"], a["value"]["stringValue"]) for a in p["attributes"])): p["asDouble"]
        for p in points
    }
    assert told[(("node", "b"), ("rank", "1"), ("run", "run-1"))] == 1.0
    assert all(p["timeUnixNano"].isdigit() for p in points) and "allranks_run_info" in metrics


@pytest.mark.parametrize(("value", "sent"), [(float("nan"), "NaN"), (float("-inf"), "-Infinity"), (2.5, 2.5)])
def test_a_loss_that_is_not_finite_is_sent_as_protobufs_text(value: float, sent: Any) -> None:
    one = trained()
    for rank in one.run.ranks.values():
        rank.loss = value
    body = otlp.document(RunCollector({"run-1": one}).collect(), 1.0)
    (loss,) = [
        m
        for m in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        if m["name"] == "allranks_run_loss"
    ]
    assert loss["gauge"]["dataPoints"][0]["asDouble"] == sent
    json.dumps(body, allow_nan=False)


def test_trouble_is_said_once_and_its_end_too(collector: Collector, capsys) -> None:
    sender = Sender(collector.url, registry())
    for collector.code in (503, 503, 307, 200):
        sender.send()
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in said] == [
        "it answers 503 Service Unavailable",
        "it answers 307 Temporary Redirect",
        "the metrics arrive again",
    ]


def test_a_key_that_is_no_header_is_not_printed(collector: Collector, monkeypatch) -> None:
    monkeypatch.setenv(otlp.HEADERS, "key=s3cret%0Ax")
    why = otlp.send([], f"{collector.url}/v1/metrics", 1.0)
    assert otlp.HEADERS in why and "s3cret" not in why and not collector.got


def test_a_collector_that_is_not_there_fails_a_single_look(home: Path, capsys) -> None:
    assert cli.main(["metrics", "--once", "--otlp", "http://127.0.0.1:1"]) == 1
    assert "http://127.0.0.1:1/v1/metrics: " in capsys.readouterr().err


@pytest.mark.parametrize("url", ["collector:4318", "ftp://collector", "http://"])
def test_a_url_that_is_none_is_bad_input(home: Path, url: str, capsys) -> None:
    assert cli.main(["metrics", "--otlp", url]) == 2
    assert url in capsys.readouterr().err


@pytest.mark.lengthy
def test_opentelemetrys_own_classes_read_it(root: Path) -> None:
    python = root / ".venvs" / "ray" / "bin" / "python"  # Ray's environment has them
    body = json.dumps(otlp.document(registry().collect(), 1.0))
    done = subprocess.run([python, "-c", READER], input=body, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "allranks_rank_step 2 2.0" in done.stdout.splitlines()
