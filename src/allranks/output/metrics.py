"""The state of runs as OpenMetrics families, with Prometheus' own client.

Names follow Prometheus' conventions: a unit at the end, base units, `_ratio` from 0 to 1. The number of labels is
bounded: a run's id, and the nodes, ranks and GPUs of the run. Text from a log or an exception is never a label.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, StateSetMetricFamily
from prometheus_client.registry import Collector

from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Event
from allranks.core.run_states import FINAL
from allranks.core.untrusted import mapping, text
from allranks.monitor import RunState, event_handlers
from allranks.monitor.rank_records import NodeState, RankState

STATES = ("starting", "running", *FINAL)
SEVERITIES = {NOTE: "note", WARN: "warning", BLOCK: "error", UNKNOWN: "unknown"}
"""A finding's verdict in a journal, and the label's value."""


@dataclass
class Followed:
    """One run, from its journal so far. `reached` says whether its head answers now. `left_bytes` of the journal, as it
    was when the reading began, are not read yet; None if its size is not known."""

    id: str
    name: str = ""
    reached: bool = False
    left_bytes: int | None = None
    run: RunState = field(default_factory=RunState)
    severities: Counter[str] = field(default_factory=Counter)
    saves: int = 0
    cause: str = ""
    lock: Any = field(default_factory=RLock)

    def add(self, event: Event) -> None:
        """Takes one event. Never raises, whatever a node sent."""
        with self.lock:
            if event.kind == "finding":
                self.severities[text(event.data.get("verdict")) or ""] += 1
            elif event.kind == "diagnosis":
                self.cause = text(event.data.get("cause")) or ""
            elif event.kind == "saved":
                self.saves += 1
            event_handlers.apply(self.run, event)

    def end(self, status: Mapping[str, Any]) -> None:
        """Takes the last state from the run's status, if it has one."""
        with self.lock:
            if status.get("state") in FINAL:
                self.run.state = str(status["state"])
                self.cause = text(mapping(status.get("diagnosis")).get("cause")) or self.cause

    def read(self, size_bytes: int) -> None:
        """Call it after each piece of the journal."""
        if self.left_bytes is not None:
            self.left_bytes -= size_bytes

    @property
    def caught_up(self) -> bool:
        """Whether everything was read that was in the journal when the reading began."""
        return self.left_bytes is not None and self.left_bytes <= 0

    def begin_again(self) -> None:
        """Call it before the journal is read again from its beginning."""
        with self.lock:
            self.run, self.severities, self.saves, self.cause = RunState(), Counter(), 0, ""

    @property
    def state(self) -> str:
        return self.run.state if self.run.state in FINAL else "running" if self.run.step >= 0 else "starting"


class RunCollector(Collector):
    """All followed runs, read again at each scrape."""

    def __init__(self, runs: Mapping[str, Followed]):
        self.runs = runs

    def collect(self) -> Iterator[Any]:
        families = of_runs()
        for one in list(self.runs.values()):
            with one.lock:
                tell(one, families)
        return iter(families.values())


def gauge(families: dict[str, Any], name: str, says: str, *labels: str) -> None:
    families[name] = GaugeMetricFamily(f"allranks_{name}", says, labels=("run", *labels))


def of_runs() -> dict[str, Any]:
    """The empty families, by their names without the prefix."""
    found: dict[str, Any] = {
        "run": InfoMetricFamily(
            "allranks_run", "A run: its name, and the cause once it failed.", labels=("run",)
        ),
        "run_state": StateSetMetricFamily("allranks_run_state", "The state of the run.", labels=("run",)),
    }
    gauge(found, "run_reached", "Whether the run's head answers; at 0 the other values are old.")
    gauge(found, "run_start_timestamp_seconds", "When the run began.")
    gauge(found, "run_step", "The newest optimizer step of any rank.")
    gauge(found, "run_planned_steps", "How many steps the training has.")
    gauge(found, "run_loss", "The newest loss that a rank reported.")
    gauge(found, "run_learning_rate", "The newest learning rate.")
    gauge(found, "run_gradient_norm", "The newest norm of the gradients, before they are clipped.")
    gauge(found, "run_tokens_per_second", "Tokens of all ranks over the time of their last steps.")
    gauge(found, "run_step_seconds", "The median time of the last steps.")
    gauge(found, "run_saved_checkpoints", "Saves that ended, of all ranks.")
    gauge(found, "run_findings", "Findings so far, by severity.", "severity")
    gauge(found, "rank_step", "The rank's newest optimizer step.", "node", "rank")
    gauge(found, "rank_step_seconds", "The median time of the rank's last steps.", "node", "rank")
    gauge(found, "rank_heartbeat_timestamp_seconds", "When the rank's last heartbeat came.", "node", "rank")
    gauge(found, "rank_resident_memory_bytes", "Host memory of the rank's process.", "node", "rank")
    gauge(found, "rank_gpu_memory_bytes", "GPU memory that torch holds in the rank.", "node", "rank")
    gauge(found, "rank_alive", "Whether the rank's process has not ended.", "node", "rank")
    gauge(found, "node_lost", "Whether the keeper has lost the node.", "node")
    gauge(found, "node_memory_available_bytes", "Memory that programs on the node can still get.", "node")
    gauge(found, "node_memory_total_bytes", "Memory of the node.", "node")
    gauge(
        found,
        "gpu_utilization_ratio",
        "Share of the time in which a kernel ran, by nvidia-smi.",
        "node",
        "gpu",
    )
    gauge(found, "gpu_temperature_celsius", "The GPU's temperature, by nvidia-smi.", "node", "gpu")
    gauge(found, "gpu_power_watts", "The power of the GPU, by nvidia-smi.", "node", "gpu")
    return found


def tell(one: Followed, families: dict[str, Any]) -> None:
    run, ranks = one.run, [rank for _, rank in sorted(one.run.ranks.items())]
    told = {"name": one.name, **({"cause": one.cause} if one.cause else {})}
    families["run"].add_metric([one.id], told)
    families["run_state"].add_metric([one.id], {state: state == one.state for state in STATES})

    def put(name: str, value: float | None, *labels: str) -> None:
        if value is not None:
            families[name].add_metric([one.id, *labels], value)

    put("run_reached", float(one.reached))
    put("run_start_timestamp_seconds", run.started_at)
    put("run_step", float(run.step) if run.step >= 0 else None)
    put("run_planned_steps", newest(rank.total_steps for rank in ranks))
    put("run_loss", newest(rank.loss for rank in ranks))
    put("run_learning_rate", newest(rank.learning_rate for rank in ranks))
    put("run_gradient_norm", newest(rank.gradient_norm for rank in ranks))
    put("run_tokens_per_second", tokens_per_second(ranks))
    put("run_step_seconds", median(seconds for rank in ranks for seconds in rank.seconds))
    put("run_saved_checkpoints", float(one.saves))
    for verdict, severity in SEVERITIES.items():
        put("run_findings", float(one.severities[verdict]), severity)
    for rank in ranks:
        of_rank(rank, put)
    for node in run.nodes.values():
        of_node(node, put)


def of_rank(rank: RankState, put: Any) -> None:
    labels = (rank.node or "", str(rank.rank))
    put("rank_step", rank.step, *labels)
    put("rank_step_seconds", median(rank.seconds), *labels)
    put("rank_heartbeat_timestamp_seconds", rank.beat_at, *labels)
    put("rank_resident_memory_bytes", rank.rss_bytes, *labels)
    put("rank_gpu_memory_bytes", rank.gpu_bytes, *labels)
    put("rank_alive", float(rank.alive), *labels)


def of_node(node: NodeState, put: Any) -> None:
    put("node_lost", float(node.lost_at is not None), node.name)
    put("node_memory_available_bytes", node.sample.memory_available_bytes, node.name)
    put("node_memory_total_bytes", node.sample.memory_total_bytes, node.name)
    for number, gpu in enumerate(node.gpus):
        index = str(number if gpu.index is None else gpu.index)
        used = None if gpu.utilization is None else gpu.utilization / 100.0
        put("gpu_utilization_ratio", used, node.name, index)
        put("gpu_temperature_celsius", gpu.temperature, node.name, index)
        put("gpu_power_watts", gpu.power_watts, node.name, index)


def newest(values: Iterable[Any]) -> float | None:
    """The last known value. Ranks of one run report the same value, or only one of them reports it."""
    known = [value for value in values if value is not None]
    return float(known[-1]) if known else None


def median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None


def tokens_per_second(ranks: Iterable[RankState]) -> float | None:
    """The sum over the ranks that count tokens, each over its own last steps."""
    found = [
        sum(rank.tokens) / sum(list(rank.seconds)[-len(rank.tokens) :])
        for rank in ranks
        if rank.tokens and sum(list(rank.seconds)[-len(rank.tokens) :]) > 0
    ]
    return sum(found) if found else None
