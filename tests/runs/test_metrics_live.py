"""A run that trains, scraped by a real Prometheus."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.harness import free_port
from tests.harness.desk import Desk

pytestmark = pytest.mark.lengthy


def page(port: int, path: str = "/metrics") -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return ""


def asked(port: int, query: str) -> list[dict[str, Any]]:
    """What Prometheus answers to a query."""
    answer = page(port, f"/api/v1/query?query={urllib.parse.quote(query)}")
    return json.loads(answer)["data"]["result"] if answer else []


def prometheus(desk: Desk, folder: Path, port: int) -> int:
    """Begins one that scrapes this port each second; the port of its own."""
    own = free_port()
    scrape = {
        "job_name": "allranks",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [scrape]}))
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    command = ["prometheus", *words, f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"]
    desk.begin(command, stdin=subprocess.DEVNULL)
    return own


def test_prometheus_scrapes_a_run_while_it_trains_and_after_its_end(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        run_id = desk.run(desk.light("--steps", 3000), "--detach", code=0)["id"]
        desk.trains(run_id, 2)
        port = free_port()
        desk.start("metrics", run_id, "--port", port, "--every", 1)
        own = prometheus(desk, tmp_path, port)
        running = f'allranks_run_state{{allranks_run_state="running",run="{run_id}"}} == 1'
        desk.until(lambda: asked(own, running), lambda: page(port)[-3000:])
        ranks = asked(own, f'allranks_rank_step{{run="{run_id}"}}')
        assert sorted(one["metric"]["rank"] for one in ranks) == ["0", "1", "2"]
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=page(port), text=True, capture_output=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        desk("stop", run_id, "-y", code=0)
        stopped = running.replace("running", "stopped")
        desk.until(lambda: asked(own, stopped), lambda: page(port)[-3000:])
        once = desk("metrics", run_id, "--once", code=0).stdout
        assert stopped.replace("} == 1", "} 1.0") in once and once.endswith("# EOF\n")
