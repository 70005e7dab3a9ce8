"""Loads recorded clusters and applies a case's changes to them."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from allranks import checks, spec
from allranks.core import Finding, facts_from_json
from allranks.plan import library_trial, make_plan
from allranks.plan.environment import environment as plan_environment
from tests.checks.case import Case, Remove, Unreadable

FOLDER = Path(__file__).resolve().parent.parent / "recorded"
CLUSTERS = sorted(path.parent.name for path in FOLDER.glob("*/run.yaml"))


@dataclasses.dataclass
class Cluster:
    run: spec.Run
    nodes: dict[str, dict[str, Any]]
    deepspeed: dict[str, Any] | None = None


@functools.cache
def _loaded(name: str) -> tuple[spec.Run, dict[str, str]]:
    folder = FOLDER / name
    run = spec.load(folder / "run.yaml")
    return run, {n.name: (folder / f"{n.name}.json").read_text() for n in run.cluster.nodes}


def cluster(name: str) -> Cluster:
    run, texts = _loaded(name)
    return Cluster(run, {node: json.loads(text) for node, text in texts.items()})


def judged(found: Cluster) -> list[Finding]:
    facts = [facts_from_json(one) for one in found.nodes.values()]
    return checks.judge(facts, planned(found, facts), found.run)


@functools.lru_cache(maxsize=64)
def _plan(run: _Keyed, config: str, deepspeed: str) -> Any:
    # What else would fit takes a third of a second to find, and no check reads it.
    with patch("allranks.plan.budget.nearest_that_fits", lambda _case: []):
        return make_plan(run.value, json.loads(config), None, deepspeed=json.loads(deepspeed))


class _Keyed:
    """A run as a cache key: plans of equal runs are made once."""

    def __init__(self, run: spec.Run):
        self.value, self.text = run, repr(run)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and other.text == self.text


def planned(found: Cluster, facts: Sequence[Any]) -> Any:
    """The plan. Variables change nothing in it but its environment, and planning 671 B parameters takes a while."""
    configs = (one.get("storage.model.config") for one in facts)
    config = next((c for c in configs if c), None)
    bare = _Keyed(dataclasses.replace(found.run, env={}))
    plan = _plan(bare, json.dumps(config), json.dumps(found.deepspeed))
    environment = plan_environment(found.run, plan.setting.uses_gpu)
    return dataclasses.replace(plan, run=found.run, environment=environment)


def changed(case: Case) -> Cluster:
    found = cluster(case.cluster)
    for place, value in case.change.items():
        parts = list(place) if isinstance(place, tuple) else place.split("/")
        first, rest = parts[0], parts[1:]
        if first == "run":
            found.run = in_run(found.run, rest, value)
        elif first == "deepspeed":
            found.deepspeed = found.deepspeed or {}
            found.run = dataclasses.replace(found.run, deepspeed="/home/ubuntu/ds.json")
            if rest:
                put(found.deepspeed, rest, value)
            else:
                found.deepspeed = copy.deepcopy(value)
        else:
            names = list(found.nodes) if first == "*" else [first]
            for name in names:
                in_facts(found.nodes[name], rest, copy.deepcopy(value))
    return asked_again(found)


def asked_again(found: Cluster) -> Cluster:
    """The nodes' libraries were asked about the run as it was changed, and said what stands in the facts."""
    for facts in found.nodes.values():
        told = facts["values"].get("imports", {}).get("configuration")
        if told is not None and told["digest"] != "another":
            told["digest"] = library_trial.digest(found.run, found.deepspeed)
    return found


def in_facts(facts: dict[str, Any], parts: list[str], value: Any) -> None:
    if isinstance(value, Unreadable):
        facts["unreadable"][".".join(parts)] = value.reason
        if parts[0] in facts["values"]:
            put(facts["values"], parts, Remove)
        return
    put(facts["values"], parts, value)


def put(tree: Any, parts: list[Any], value: Any) -> None:
    for part in parts[:-1]:
        tree = tree[int(part)] if isinstance(tree, list) else tree.setdefault(part, {})
    last = int(parts[-1]) if isinstance(tree, list) else parts[-1]
    if value is not Remove:
        tree[last] = value
    elif isinstance(tree, list) or last in tree:
        del tree[last]


def in_run(value: Any, parts: list[str], new: Any) -> Any:
    """The run with one place changed; dataclasses are replaced, mappings copied."""
    if not parts:
        return new
    head, rest = parts[0], parts[1:]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{head: in_run(getattr(value, head), rest, new)})
    if isinstance(value, Mapping):
        if not rest and new is Remove:
            return {k: v for k, v in value.items() if k != head}
        return {**value, head: in_run(value.get(head), rest, new)}
    if isinstance(value, tuple):
        return tuple(in_run(item, rest, new) if str(n) == head else item for n, item in enumerate(value))
    raise TypeError(f"{head} is in no {type(value).__name__}")
