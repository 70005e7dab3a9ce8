"""The verb `probe rdma`: one side of `ib_write_bw` (linux-rdma's perftest) between two nodes, always in bounded time.

The first side waits, the second dials it; both print the same table. Nothing here is a shell's: each word of the
command is one of a list.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional

from allranks.core.text import last_line
from allranks.node.facts._reading import why
from allranks.node.facts.infiniband import ROOT, devices

PROGRAM = "ib_write_bw"
PORT = 18515
"""perftest's own default, for the exchange of addresses over TCP."""

NO_PORT = "no InfiniBand or RoCE port is active"
NO_PROGRAM = "%s is not installed" % PROGRAM

MORE_SECONDS = 15.0
"""Above the measuring itself: opening the device, registering memory, finding each other."""

AGAIN_SECONDS = 0.3
NOT_YET = re.compile(r"(?i)couldn't connect|connection refused|unable to init the socket")


def run(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """`wanted`: `seconds`, `port`, and `host` for the side that dials.

    `{"device", "bytes_per_second", "reason"}`; the rate is None with a reason where nothing was measured.
    """
    device = active_device(ROOT)
    answer: Dict[str, Any] = {"device": device, "bytes_per_second": None, "reason": ""}
    if shutil.which(PROGRAM) is None:
        return {**answer, "reason": NO_PROGRAM}
    if device is None:
        return {**answer, "reason": NO_PORT}
    seconds = min(max(int(wanted.get("seconds") or 1), 1), 60)
    host = str(wanted["host"]) if wanted.get("host") else None
    words = argv(device, int(wanted.get("port") or PORT), seconds, host)
    deadline = time.monotonic() + seconds + MORE_SECONDS
    text = ""
    while time.monotonic() < deadline:
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=max(deadline - time.monotonic(), 0.1),
            )
        except subprocess.TimeoutExpired:
            return {**answer, "reason": "%s did not end within %.0f s" % (PROGRAM, seconds + MORE_SECONDS)}
        except OSError as error:
            return {**answer, "reason": why(error)}
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode == 0 or host is None or not NOT_YET.search(text):
            break
        time.sleep(AGAIN_SECONDS)  # the other side is not up yet
    rate = parse(text)
    reason = "" if rate is not None else last_line(text, "%s printed nothing" % PROGRAM)
    return {**answer, "bytes_per_second": rate, "reason": reason}


def argv(device: str, port: int, seconds: int, host: Optional[str]) -> List[str]:
    """-D measures for so many seconds, -F continues even if the processors' frequency varies (perftest's README)."""
    words = [PROGRAM, "-d", device, "-p", str(port), "-D", str(seconds), "-F", "--report_gbits"]
    return [*words, host] if host is not None else words


def parse(text: str) -> Optional[float]:
    """Bytes per second of the table's last row: `#bytes #iterations BW peak[..] BW average[..] MsgRate[..]`."""
    unit: Optional[float] = None
    found: Optional[float] = None
    for line in text.splitlines():
        header = re.search(r"#bytes.*BW average\s*\[\s*(Gb|MB|MiB)/sec\s*\]", line)
        if header is not None:
            # perftest's MB is 2**20 bytes: it divides by 0x100000.
            unit = 1e9 / 8 if header.group(1) == "Gb" else float(1 << 20)
            continue
        fields = line.split()
        if unit is not None and len(fields) in (4, 5) and fields[0].isdigit():
            try:
                found = float(fields[3]) * unit
            except ValueError:
                continue
    return found if found else None


def active_device(root: str) -> Optional[str]:
    """The first device with an active port."""
    for name, device in devices(root).items():
        if any(port["state"] == "ACTIVE" for port in device["ports"].values()):
            return name
    return None
