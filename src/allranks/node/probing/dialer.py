"""The verbs `probe dial` and `probe measure`: they connect to the other nodes' listeners and report how that goes."""

from __future__ import annotations

import errno
import socket
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from allranks.node.facts._reading import why
from allranks.node.probing import protocol
from allranks.node.probing.listener import abandon, count, plain, pour

Address = Tuple[int, Any]
"""An address family and what `socket.connect` takes of it."""

AT_ONCE = 128
CLOCK_QUESTIONS = 5
PINGS = 20
PING_SECONDS = 2.0

OUTCOMES = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ETIMEDOUT: "dropped",
    errno.EHOSTUNREACH: "no-route",
    errno.ENETUNREACH: "no-route",
    errno.EACCES: "forbidden",
    errno.EPERM: "forbidden",
    errno.EADDRNOTAVAIL: "no-route",
}
"""`forbidden`: this node's own packet filter says no (connect(2)); an ICMP "administratively prohibited" of
another's filter arrives as EHOSTUNREACH."""


def dial(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """Dials every target at once. `wanted`: `node`, `key`, `seconds` (a connection's limit), `targets` (each
    `node`, `address`, `port`, `kind`; the clock is asked where `clock` is true). `dials` holds one answer a
    target, in their order; what hangs (a resolver) counts as `unanswered` after twice the limit."""
    key, me, seconds = _common(wanted)
    targets = [dict(target) for target in wanted.get("targets") or []]
    answers: List[Dict[str, Any]] = [
        {**target, "outcome": "unanswered", "text": "no answer in time"} for target in targets
    ]
    places = iter(range(len(targets)))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                place = next(places, None)
            if place is None:
                return
            answers[place] = {**targets[place], **dial_one(me, key, targets[place], seconds)}

    _together(
        [work] * min(AT_ONCE, len(targets)), time.monotonic() + 2 * seconds * (1 + len(targets) // AT_ONCE)
    )
    return {"node": me, "dials": list(answers)}


def dial_one(me: str, key: bytes, target: Mapping[str, Any], seconds: float) -> Dict[str, Any]:
    """`outcome` is `ok` or one word for what went wrong, `text` the reason. Where a node of the probe answered:
    `answered_by`, `own` and `saw` (this node's address as it and as the peer see it), `seconds` of the connect."""
    try:
        places = resolved(str(target["address"]), int(target["port"]))
    except (OSError, ValueError) as error:  # UnicodeError: a part of the name is empty or too long
        return {"outcome": "unknown-name", "text": why(error) if isinstance(error, OSError) else str(error)}
    found: Dict[str, Any] = {"resolved": plain(str(places[0][1][0]))}
    began = time.monotonic()
    try:
        sock, found["resolved"] = connect(places, seconds)
    except socket.timeout:
        return {**found, "outcome": "dropped", "text": f"no answer within {seconds:g} s"}
    except OSError as error:
        return {**found, "outcome": OUTCOMES.get(error.errno or 0, "failed"), "text": why(error)}
    found.update(seconds=time.monotonic() - began, own=plain(sock.getsockname()[0]))
    try:
        answer = protocol.request(sock, key, {"from": me, "do": "hello"}, time.monotonic() + seconds)
        if target.get("clock"):
            found["clock"] = clock_of(me, key, places, seconds)
    except protocol.Silent:
        return {
            **found,
            "outcome": "silent",
            "text": f"it takes the connection and says nothing for {seconds:g} s",
        }
    except protocol.Stranger as error:
        return {**found, "outcome": "stranger", "text": str(error)}
    except OSError as error:
        return {**found, "outcome": OUTCOMES.get(error.errno or 0, "failed"), "text": why(error)}
    finally:
        sock.close()
    found.update(answered_by=str(answer.get("node")), saw=str(answer.get("saw")))
    if found["answered_by"] != str(target["node"]):
        return {**found, "outcome": "wrong-node", "text": f"{found['answered_by']} answers there"}
    return {**found, "outcome": "ok", "text": ""}


def resolved(host: str, port: int) -> List[Address]:
    """The addresses of a name, in the resolver's order. Raises OSError (socket.gaierror) if there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(one[0], one[4]) for one in found]


def connect(places: List[Address], seconds: float) -> Tuple[socket.socket, str]:
    """A connection to the first place that takes it, as torch's TCPStore tries them; and that address.

    Raises what the last one failed with: socket.timeout or another OSError.
    """
    last: OSError = OSError(errno.EADDRNOTAVAIL, "the name resolves to nothing")
    deadline = time.monotonic() + seconds
    for family, place in places:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(max(0.1, deadline - time.monotonic()))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(place)
            return sock, plain(str(place[0]))
        except OSError as error:
            sock.close()
            last = error
    raise last


def clock_of(me: str, key: bytes, places: List[Address], seconds: float) -> Dict[str, float]:
    """This node's clock against the peer's: the offset (positive: this one is ahead) of the fastest of several
    questions, wrong by `error` at most, which is half of that question's way there and back (Cristian)."""
    best: Dict[str, float] = {}
    for _ in range(CLOCK_QUESTIONS):
        sock, _address = connect(places, seconds)
        try:
            asked = time.time()
            began = time.monotonic()
            answer = protocol.request(sock, key, {"from": me, "do": "clock"}, began + seconds)
            took = time.monotonic() - began
        finally:
            sock.close()
        if not best or took / 2 < best["error"]:
            best = {"offset": asked + took / 2 - float(answer["at"]), "error": took / 2}
    return best


# ---- measuring ----


def measure(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """One pair: `latency` (seconds there and back, the least and the median of 20), `sent` and `received`.

    `wanted`: `node`, `key`, `target` (`node`, `address`, `port`), `streams`, `seconds` a direction. A part that
    failed has `reason`. Bandwidth is bytes per second over all streams, counted where they arrive.
    """
    key, me, seconds = _common(wanted)
    target = dict(wanted.get("target") or {})
    streams = max(1, min(16, int(wanted.get("streams") or 4)))
    return {
        "node": me,
        "target": target.get("node"),
        "latency": _tried(lambda: ping(me, key, target)),
        "sent": _tried(lambda: _streams(lambda: push(me, key, target, seconds), streams, seconds)),
        "received": _tried(lambda: _streams(lambda: pull(me, key, target, seconds), streams, seconds)),
    }


def ping(me: str, key: bytes, target: Mapping[str, Any]) -> Dict[str, float]:
    with _asking(me, key, target, {"do": "echo"}, PING_SECONDS) as sock:
        times, until = [], time.monotonic() + PING_SECONDS
        while len(times) < PINGS and time.monotonic() < until:
            began = time.monotonic()
            sock.sendall(b"p")
            protocol.exactly(sock, 1, until)
            times.append(time.monotonic() - began)
    times.sort()
    return {"least": times[0], "median": times[len(times) // 2]}


def push(me: str, key: bytes, target: Mapping[str, Any], seconds: float) -> Dict[str, float]:
    """Sends for `seconds`; what the peer has counted."""
    with _asking(me, key, target, {"do": "sink", "seconds": seconds}, seconds + 5.0) as sock:
        # The peer ends the measurement: its count is in the way back as soon as its time is over.
        pour(sock, seconds + 0.05)
        counted, _ = protocol.receive(sock, key, time.monotonic() + seconds + 5.0)
        abandon(sock)
    return {"bytes": float(counted["bytes"]), "seconds": float(counted["seconds"])}


def pull(me: str, key: bytes, target: Mapping[str, Any], seconds: float) -> Dict[str, float]:
    """Lets the peer send for `seconds` and counts."""
    with _asking(me, key, target, {"do": "source", "seconds": seconds + 0.5}, seconds + 5.0) as sock:
        found = count(sock, seconds)
        abandon(sock)
    return found


@contextmanager
def _asking(
    me: str, key: bytes, target: Mapping[str, Any], question: Mapping[str, Any], seconds: float
) -> Iterator[socket.socket]:
    """A connection on which the question has been answered."""
    sock, _ = connect(resolved(str(target["address"]), int(target["port"])), seconds)
    with sock:
        protocol.request(sock, key, {"from": me, **question}, time.monotonic() + seconds)
        yield sock


def _streams(one: Callable[[], Dict[str, float]], number: int, seconds: float) -> Dict[str, float]:
    """`number` streams at once; their sum. Raises what the first of them failed with, if none came through."""
    done: List[Dict[str, float]] = []
    failed: List[BaseException] = []

    def work() -> None:
        try:
            done.append(one())
        except (OSError, ValueError, protocol.Silent, protocol.Stranger) as error:
            failed.append(error)

    _together([work] * number, time.monotonic() + 3 * seconds + 15.0)
    if not done:
        raise failed[0] if failed else protocol.Silent("no stream ended in time")
    rate = sum(d["bytes"] / d["seconds"] for d in list(done) if d["seconds"] > 0)
    return {"bytes_per_second": rate, "streams": len(done), "bytes": sum(d["bytes"] for d in list(done))}


def _tried(work: Callable[[], Dict[str, float]]) -> Dict[str, Any]:
    try:
        return dict(work())
    except OSError as error:
        return {"reason": why(error)}
    except (protocol.Silent, protocol.Stranger, ValueError, KeyError, IndexError) as error:
        return {"reason": str(error)}


def _together(works: "List[Callable[[], None]]", deadline: float) -> None:
    """Each in its own thread; returns when all have ended, at the latest at `deadline`."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _common(wanted: Mapping[str, Any]) -> Tuple[bytes, str, float]:
    return bytes.fromhex(str(wanted["key"])), str(wanted["node"]), float(wanted.get("seconds") or 3.0)
