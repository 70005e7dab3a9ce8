from __future__ import annotations


def _sampled(*nodes: tuple[str, int, tuple[float, ...]], until: int = 330, busy: int = 10) -> list:
    """A node's name, its samples' lag behind the others' in seconds, its GPUs' use (below zero: at every second look
    alone, or with `busy` at so many of every twenty); a look at the GPUs is in every third
    sample, as nodes send them."""
    events = []
    for name, lag, used in nodes:
        beat = {"phase": "training", "step": 3, "total_steps": 1000}
        events += [
            {"at": float(t), "kind": "beat", "node": name, "rank": 0, "data": beat} for t in range(1, until)
        ]
        for count, at in enumerate(range(2 + lag, until, 5)):
            seen = [abs(value) if value > 0 or count // 3 * busy % 20 < busy else 0.0 for value in used]
            gpus = [{"uuid": f"GPU-{name}{n}", "index": n, "utilization": u} for n, u in enumerate(seen)]
            data = {"gpus": gpus} if count % 3 == 0 else {"memory_total_bytes": 1}
            events.append({"at": float(at), "kind": "sample", "node": name, "data": data})
    return sorted(events, key=lambda event: event["at"])


def _late(seconds: int) -> list:
    """The twentieth look at node a, of second 287, is its last one; the twentieth at node b comes so much later."""
    events = _sampled(("a", 0, (0.0,)), ("b", seconds, (97.0,)), until=290 + seconds)
    return [e for e in events if e["kind"] == "beat" or e["node"] == "b" or e["at"] < 288.0]


FIRES = [
    {"events": _late(44)},
    {"events": _sampled(("a", 0, (97.0, 0.0)))},
    {"events": _sampled(("a", 0, (97.0,)), ("b", 5, (0.0,)))},
    {"events": _sampled(("a", 0, (97.0,)), ("b", 10, (0.0,)))},
    {"events": _sampled(("a", 0, (-97.0, 0.0)))},
    {"events": _sampled(("a", 0, (97.0, 0.0)), until=289)},
    {"events": _sampled(("a", 0, (-97.0, 0.0)), busy=10, until=289)},
]

SILENT = [
    {"events": _late(46)},
    {"events": _sampled(("a", 0, (97.0, 60.0)))},
    {"events": _sampled(("a", 0, (0.0,)), ("b", 5, (0.0,)))},
    {"events": _sampled(("a", 0, (97.0, 0.0)), until=200)},
    {"events": _sampled(("a", 0, (97.0, 0.0)), until=287)},
    {"events": _sampled(("a", 0, (-97.0, 0.0)), busy=9)},
]
