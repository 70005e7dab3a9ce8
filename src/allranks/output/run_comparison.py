"""Compares two runs: the settings that differ, the loss, the speed, and the conclusion.

It uses the result of `report.collect` for each run. A difference counts only if it is larger than the runs' own
variation. For step times, that is the middle half of the steps; for losses, the change from one stretch of the curve
to the next near its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from allranks.core import BadInput
from allranks.core.untrusted import mapping, mappings, number
from allranks.output.report_collect import SOFTWARE
from allranks.output.report_series import median, quantile
from allranks.spec.problems import Problems
from allranks.spec.tree import Scalar, Table, walk
from allranks.spec.yaml12 import parse

IGNORED = ("total_steps", "notes", "trainable_digest", "data_digest")
"""Settings of the ranks that are compared elsewhere, or that differ between any two runs."""

SAMPLES_A_STEP = ("micro_batch", "accumulation", "world_size")


@dataclass(frozen=True)
class Row:
    """One quantity of both runs; None if a run does not report it."""

    name: str
    a: Any
    b: Any

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True)
class Comparison:
    """`settings` are those that differ. `common_step` is the last step for which both runs have a loss."""

    a: str
    b: str
    states: tuple[str | None, str | None]
    settings: tuple[Row, ...]
    common_step: int | None
    loss: tuple[Row, ...]
    speed: tuple[Row, ...]
    verdict: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        """Whether the losses or the step times of both runs could be compared."""
        steps = self.speed[0]
        return self.common_step is not None or None not in (steps.a, steps.b)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compared(a: Mapping[str, Any], b: Mapping[str, Any], names: tuple[str, str]) -> Comparison:
    """`a` and `b` are results of `report.collect`; `names` are the runs' ids."""
    told = [settings_of(one) for one in (a, b)]
    keys = list(dict.fromkeys([*told[0], *told[1]]))
    settings = [Row(key, told[0].get(key), told[1].get(key)) for key in keys]
    curves = [curve(one, "loss") for one in (a, b)]
    step = common_step(*curves)
    summaries = [mapping(one.get("summary")) for one in (a, b)]
    loss = [
        Row("first loss", *(number(one.get("first_loss")) for one in summaries)),
        Row("last loss", *(number(one.get("last_loss")) for one in summaries)),
        Row("last step", *(last_step(one) for one in curves)),
    ]
    if step is not None:
        loss.append(Row(f"loss at step {step:,}", *(at(one, step) for one in curves)))
    speed = [Row(name, *(number(one.get(key)) for one in summaries)) for name, key in SPEED]
    states = tuple(mapping(one.get("state")).get("state") for one in (a, b))
    differing = tuple(row for row in settings if row.differs)
    verdict = (
        *of_states(names, states),
        of_speed(names, a, b),
        of_loss(names, curves, step),
        *of_batch(differing, told),
    )
    return Comparison(*names, states, differing, step, tuple(loss), tuple(speed), verdict)  # type: ignore[arg-type]


SPEED = (
    ("seconds per step", "step_seconds"),
    ("tokens per second", "tokens_per_second"),
    ("share of waiting for data", "waiting_share"),
    ("seconds of training", "training_seconds"),
    ("peak GPU memory of a rank", "gpu_peak_bytes"),
    ("peak host memory of a node", "node_rss_bytes"),
)


# ---- settings ----


def settings_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in the run file, the effective settings that the ranks reported, and their environment, by name."""
    found: dict[str, Any] = dict(written(str(mapping(data.get("run_file")).get("text") or "")))
    for key, value in mapping(data.get("settings")).items():
        if key not in IGNORED and value is not None:
            found[f"reported: {key}"] = value
    ranks = mappings(data.get("ranks"))
    for name in (*SOFTWARE, "python"):
        versions = sorted({str(one[name]) for one in ranks if one.get(name)})
        if versions:
            found[f"version: {name}"] = ", ".join(versions)
    gpus = [str(mapping(one.get("gpu")).get("name")) for one in ranks if mapping(one.get("gpu")).get("name")]
    if gpus:
        found["GPUs"] = ", ".join(f"{gpus.count(name)} {name}" for name in sorted(set(gpus)))
    rates = [point[4] for point in curve(data, "learning_rate")]
    if rates:
        found["reported: highest learning rate"] = max(rates)
    return found


def written(text: str) -> dict[str, Any]:
    """The run file's keys, as dotted paths. A list is one value, because its order has a meaning."""
    try:
        tree = parse(text, "run.yaml", Problems())
    except BadInput:
        return {}
    if not isinstance(tree, Table):
        return {}
    found: dict[str, Any] = {}
    for path, _, _, node in walk(tree):
        parent, _, last = path.rpartition(".")
        if last.isdigit():
            if isinstance(node, Scalar):
                found[parent] = [*found.get(parent, []), node.value]
        elif isinstance(node, Scalar):
            found[path] = node.value
    return found


# ---- curves ----


def curve(data: Mapping[str, Any], name: str) -> list[list[float]]:
    """The stretches of a curve: first step, last step, mean, lowest, highest."""
    line = mapping(mapping(data.get("charts")).get(name))
    return [list(point) for point in line.get("points") or () if len(point) == 5]


def last_step(points: Sequence[Sequence[float]]) -> int | None:
    return int(points[-1][1]) if points else None


def common_step(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> int | None:
    if not a or not b:
        return None
    step = int(min(a[-1][1], b[-1][1]))
    return step if step >= max(a[0][0], b[0][0]) else None


def at(points: Sequence[Sequence[float]], step: int) -> float | None:
    """The mean of the stretch that contains the step."""
    return next((point[2] for point in reversed(points) if point[0] <= step), None)


def wavering(points: Sequence[Sequence[float]], step: int) -> float | None:
    """The median change of the curve from one stretch to the next, in the last quarter before the step."""
    until = [point[2] for point in points if point[0] <= step]
    tail = until[-max(len(until) // 4, 4) :]
    return median(abs(later - earlier) for earlier, later in pairwise(tail))


# ---- the conclusion ----


def of_states(names: tuple[str, str], states: Sequence[Any]) -> list[str]:
    return [
        f"{name} is {state or 'of unknown state'}: these are its values so far."
        if state in (None, "running", "starting")
        else f"{name} {state}: its values end there."
        for name, state in zip(names, states, strict=True)
        if state != "succeeded"
    ]


def of_speed(names: tuple[str, str], a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    times = [number(mapping(one.get("summary")).get("step_seconds")) for one in (a, b)]
    if times[0] is None or times[1] is None or min(times[0], times[1]) <= 0:
        return "Speed: unknown, because not both runs report their step times."
    spreads = [spread(one) for one in (a, b)]
    if any(s is None for s in spreads):
        return "Speed: too few steps to distinguish a difference from their variation."
    (low_a, high_a), (low_b, high_b) = spreads  # type: ignore[misc]
    if low_a <= high_b and low_b <= high_a:
        return "Speed: no difference beyond the variation of the steps."
    fast, ratio = (0, times[1] / times[0]) if times[0] < times[1] else (1, times[0] / times[1])
    return f"Speed: a step of {names[fast]} is {ratio:.2f} times as fast."


def spread(data: Mapping[str, Any]) -> tuple[float, float] | None:
    """The middle half of the step times, by stretch; None if there are fewer than four stretches."""
    chart = mapping(mapping(data.get("charts")).get("step"))
    # With many ranks, the lines show only the outliers.
    values = [one["p50"] for one in mappings(chart.get("bands"))]
    values = values or [point[2] for line in mapping(chart.get("lines")).values() for point in line]
    if len(values) < 4:
        return None
    ordered = sorted(values)
    return quantile(ordered, 0.25), quantile(ordered, 0.75)


def of_loss(names: tuple[str, str], curves: Sequence[Sequence[Sequence[float]]], step: int | None) -> str:
    if step is None:
        return "Loss: the runs have no step in common."
    values = [at(one, step) for one in curves]
    moves = [wavering(one, step) for one in curves]
    if values[0] is None or values[1] is None or moves[0] is None or moves[1] is None:
        return "Loss: too few steps to compare."
    gap, own = abs(values[0] - values[1]), max(moves[0], moves[1])
    if gap <= own:
        return f"Loss: no difference at step {step:,} beyond the curves' own variation ({own:.3g})."
    low = 0 if values[0] < values[1] else 1
    return f"Loss: {names[low]} is lower by {gap:.3g} at step {step:,} (own variation {own:.3g})."


def of_batch(differing: Sequence[Row], told: Sequence[Mapping[str, Any]]) -> list[str]:
    """If a step has more samples, it is another step: losses at equal steps are then not losses at equal amounts of
    data."""
    if not any(row.name in [f"reported: {key}" for key in SAMPLES_A_STEP] for row in differing):
        return []
    samples = []
    for one in told:
        parts = [number(one.get(f"reported: {key}")) for key in SAMPLES_A_STEP]
        if any(part is None for part in parts):
            return ["The batch differs: at the same step the two runs have not trained on the same data."]
        product = 1.0
        for part in parts:
            product *= part or 0.0
        samples.append(product)
    if samples[0] == samples[1]:
        return []
    said = f"{samples[0]:,.0f} samples per step against {samples[1]:,.0f}"
    return [f"The batch differs, {said}: at the same step the two runs have not trained on the same data."]
