"""A run's job on a Ray cluster, by Ray's own REST API for jobs: `ray submit RUN`. Needs no Ray here.

The job's driver (`launch/launchers/ray/driver.py`) runs on the head node and writes its lines into the run's folder;
they are handed on from there until every supervisor has been started. From then on the job is Ray's.
"""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from allranks.node.paths import read_bytes, read_text

READY = "allranks: every supervisor has been started"
"""The driver's last line about the start."""

HTTP_SECONDS = 30.0
LOOK_SECONDS = 1.0
TURN_SECONDS = 0.1
ENDED = ("STOPPED", "SUCCEEDED", "FAILED")


class Refused(Exception):
    """The cluster refused a request, or could not be reached; the text is its reason."""


def submit(wanted: Mapping[str, Any], gone: Callable[[], bool] = lambda: False) -> Iterator[str]:
    """Submits the job and yields lines until it has started everything, or has ended; `gone` ends it too.

    `wanted` is `{"address": "http://HOST:PORT", "token": text or null, "token_file": path or null, "job": {...},
    "log": path}`; `job` goes to Ray as it is. The last line is `READY`, or one that begins with `ray: `.
    """
    address, job, log = str(wanted["address"]), dict(wanted["job"]), str(wanted["log"])
    token = token_of(wanted, os.environ)
    try:
        if wanted.get("head"):
            place = head_of(wanted["head"], machines(address, token))
            job["entrypoint_resources"] = {"node:" + place["address"]: 0.001}
        request(address, "/api/jobs/", token, job)
    except Refused as error:
        yield f"ray: {error}"
        return
    offset, looked = 0, time.monotonic()
    while not gone():
        ended = ""
        if time.monotonic() - looked > LOOK_SECONDS:
            looked = time.monotonic()
            ended = how_it_ended(address, str(job["submission_id"]), token)
        lines = new_lines(log, offset)
        for line in lines:
            offset += len(line)
            text = line.decode("utf-8", "replace").rstrip("\n")
            yield text
            if text == READY:
                return
        if ended:
            yield f"ray: {ended}"
            return
        time.sleep(TURN_SECONDS)


def new_lines(path: str, offset: int) -> List[bytes]:
    """The whole lines after `offset`; none while the file is not there."""
    block = read_bytes(path, offset=offset) if os.path.exists(path) else b""
    return [line for line in block.splitlines(keepends=True) if line.endswith(b"\n")]


def how_it_ended(address: str, job: str, token: Optional[str]) -> str:
    """How the job ended; empty while it continues, and also if the cluster does not answer now."""
    try:
        told = request(address, f"/api/jobs/{job}", token)
    except Refused:
        return ""
    if told.get("status") not in ENDED:
        return ""
    try:
        log = str(request(address, f"/api/jobs/{job}/logs", token).get("logs") or "")
    except Refused:
        log = ""
    last = " / ".join(line.strip() for line in log.splitlines()[-3:])
    return f"its job ended before the start: {told.get('status')}: {told.get('message')} {last}"[:600]


def machines(address: str, token: Optional[str]) -> List[Dict[str, Any]]:
    """The living machines of the cluster: `{name, address, head, gpus}`. Raises Refused."""
    told = request(address, "/api/v0/nodes?detail=1&limit=10000", token)
    try:
        rows = told["data"]["result"]["result"]
        return [
            {
                "name": str(row.get("node_name") or row["node_ip"]),
                "address": str(row["node_ip"]),
                "head": bool(row.get("is_head_node")),
                "gpus": float((row.get("resources_total") or {}).get("GPU") or 0),
            }
            for row in rows
            if row.get("state") == "ALIVE"
        ]
    except (KeyError, TypeError, AttributeError):
        raise Refused(f"{address} did not list its nodes") from None


def head_of(wanted: Mapping[str, Any], there: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The machine that the run's head is, where the driver has to run. Raises Refused."""
    names = {str(wanted["name"]), str(wanted["address"])}
    try:
        names.add(socket.gethostbyname(str(wanted["address"])))
    except OSError:
        pass  # then it must be known by name
    for machine in there:
        if names & {machine["name"], machine["address"]}:
            return machine
    living = ", ".join(machine["address"] for machine in there)
    raise Refused(f"{wanted['name']}: no living node of this Ray cluster has its name or address ({living})")


def request(
    address: str, path: str, token: Optional[str], body: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """One request to the dashboard. Raises Refused with a line that says who refused what."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(dict(body)).encode()
    request = urllib.request.Request(address + path, data=data, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    try:
        with opener.open(request, timeout=HTTP_SECONDS) as answer:
            told = json.loads(answer.read(1 << 24).decode("utf-8"))
    except urllib.error.HTTPError as error:
        text = error.read(2000).decode("utf-8", "replace").strip().splitlines()
        raise Refused(f"{address} answered {error.code}: {text[-1] if text else error.reason}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise Refused(f"no answer from {address}: {why}") from None
    if not isinstance(told, dict):
        raise Refused(f"{address} is not a Ray dashboard")
    return told


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to the address that was named, and to no other."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


def token_of(wanted: Mapping[str, Any], env: Mapping[str, str]) -> Optional[str]:
    """The token that came along, else the one where Ray itself looks (RAY_AUTH_TOKEN, …_PATH, ~/.ray/auth_token)."""
    if wanted.get("token"):
        return str(wanted["token"])
    if not wanted.get("token_file") and env.get("RAY_AUTH_TOKEN"):
        return env["RAY_AUTH_TOKEN"]
    path = (
        wanted.get("token_file") or env.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")
    )
    return read_text(str(path)).strip() or None
