"""The input of a check: the run, its plan, every node with its facts, and the machines that the nodes are on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from allranks.checks import fact_request
from allranks.core import BLOCK, NOTE, WARN, Facts, Finding, Node, Where
from allranks.core.untrusted import listing, mapping, mappings, number, text
from allranks.plan import hardware
from allranks.spec import Run

_MISSING = object()
Who = TypeVar("Who")
What = TypeVar("What")


@dataclass(frozen=True, eq=False)
class View:
    """One node of the run and its facts.

    Facts come from a machine and may be anything. Each getter returns a value of the type in its name; if the
    fact is missing or has another type, it returns the empty value of that type.
    """

    node: Node
    facts: Facts

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_head(self) -> bool:
        return self.node.rank == 0

    def get(self, path: str, default: Any = None) -> Any:
        """Like `Facts.get`, but faster for plain dictionaries, which is how facts arrive from JSON."""
        value: Any = self.facts.values
        for part in path.split("."):
            if not isinstance(value, dict):
                return self.facts.get(path, default)
            if part not in value:
                return default
            value = value[part]
        return value

    def has(self, path: str) -> bool:
        """Whether the fact was read, even if it is None."""
        return self.get(path, _MISSING) is not _MISSING and self.facts.unreadable.get(path) is None

    def text(self, path: str) -> str | None:
        return text(self.get(path))

    def number(self, path: str) -> float | None:
        return number(self.get(path))

    def map(self, path: str) -> Mapping[str, Any]:
        return mapping(self.get(path))

    def list(self, path: str) -> list[Any]:
        return listing(self.get(path))

    def maps(self, path: str) -> list[Mapping[str, Any]]:
        """The mappings in a list. Other elements are left out."""
        return mappings(self.get(path))


@dataclass(frozen=True, eq=False)
class UsedGpu:
    """A GPU that ranks compute on; `view` is a node of its machine. The machine sent `facts`: they may be anything."""

    view: View
    index: int
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        """`GPU 3 (0000:53:00.0) of node1`."""
        bus = text(self.facts.get("bus_id"))
        return f"GPU {self.index}{f' ({bus})' if bus else ''} of {self.view.name}"

    @property
    def node(self) -> str:
        return self.view.name

    @property
    def model(self) -> str | None:
        return text(self.facts.get("name"))

    def get(self, path: str) -> Any:
        """`get("ecc.volatile")`; None if any part is missing."""
        value: Any = self.facts
        for part in path.split("."):
            value = mapping(value).get(part)
        return value

    def number(self, path: str) -> float | None:
        return number(self.get(path))


Subject = View | UsedGpu | Where | str | None
"""The place of a finding. A string is a key of the run file."""

Findings = Iterator[Finding]


def minority(values: Mapping[Who, What]) -> list[tuple[Who, What, What]]:
    """Those whose value differs from the usual one, which most have: `(who, its value, the usual value)`. In a tie the
    first value, which is the head's, counts as the usual one."""
    counts = Counter(map(repr, values.values()))
    if len(counts) < 2:
        return []
    usual = max(values.values(), key=lambda value: counts[repr(value)])
    return [(who, value, usual) for who, value in values.items() if value != usual]


@dataclass(frozen=True, eq=False)
class Context:
    """`views` are the nodes in rank order. `plan` is a `plan.Plan`."""

    run: Run
    plan: Any
    views: tuple[View, ...]

    @classmethod
    def make(cls, facts: Sequence[Facts], plan: Any, run: Run) -> Context:
        by_name = {one.node: one for one in facts}
        nothing = {"node": "it was not asked"}
        nodes = run.cluster.nodes
        views = (View(n, by_name.get(n.name) or Facts(n.name, 0.0, {}, nothing)) for n in nodes)
        return cls(run, plan, tuple(views))

    @property
    def head(self) -> View:
        return self.views[0]

    @cached_property
    def answered(self) -> tuple[View, ...]:
        """The nodes that could be asked at all; the rest is `unreadable-node`'s."""
        return tuple(view for view in self.views if "node" not in view.facts.unreadable)

    @cached_property
    def hosts(self) -> tuple[tuple[View, ...], ...]:
        """The nodes of each machine: equal boot ids are one kernel, and a node of unknown boot id is alone."""
        groups: dict[Any, list[View]] = {}
        for view in self.answered:
            groups.setdefault(view.text("system.boot_id") or ("?", view.name), []).append(view)
        return tuple(tuple(group) for group in groups.values())

    @cached_property
    def machines(self) -> tuple[View, ...]:
        """One node of each machine, for what is true of the whole machine."""
        return tuple(group[0] for group in self.hosts)

    @cached_property
    def ranks_by_machine(self) -> list[tuple[View, int]]:
        """One node of each machine, and the ranks of all its nodes."""
        return [(group[0], sum(view.node.gpus for view in group)) for group in self.hosts]

    @cached_property
    def ranks(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """The plan's ranks by node."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for row in getattr(self.plan, "ranks", ()):
            found.setdefault(row.get("node"), []).append(row)
        return found

    @cached_property
    def used_gpus(self) -> list[UsedGpu]:
        """Every GPU that ranks compute on."""
        found = []
        for group in self.hosts:
            gpus = group[0].maps("gpus.list")
            places: set[int] = set()
            for view in group:
                places |= hardware.used_gpus(self.run, view.node, self.ranks.get(view.name, ()), gpus)
            found += [UsedGpu(group[0], place, gpus[place]) for place in sorted(places)]
        return found

    # ---- the run ----

    @property
    def arguments(self) -> Mapping[str, Any]:
        """LLaMA-Factory's arguments; empty for `train.command`."""
        return self.run.train.arguments if self.llamafactory else {}

    @property
    def llamafactory(self) -> bool:
        return self.run.train.kind == "llamafactory"

    @property
    def uses_gpu(self) -> bool:
        """Whether the ranks are meant to compute on GPUs: always, unless the run file asks for CPUs by name."""
        return not self.run.on_cpu

    @property
    def on_host(self) -> bool:
        """Whether the training environment is the nodes' own. A container's is looked at once it is prepared:
        until then `environment-in-image` says that nobody has."""
        return self.run.container is None and self.run.environment.lock is None

    @property
    def deepspeed(self) -> Mapping[str, Any]:
        """The DeepSpeed JSON that the run will get; empty if there is none or a script brings its own."""
        return mapping(getattr(self.plan, "deepspeed", None))

    @property
    def users_deepspeed(self) -> bool:
        """Whether the JSON is the user's own rather than one of our profiles."""
        return bool(self.deepspeed) and self.run.deepspeed not in ("auto", "zero3", "zero3-offload", "none")

    @property
    def zero_stage(self) -> int:
        stage = number(mapping(self.deepspeed.get("zero_optimization")).get("stage"))
        return int(stage) if stage is not None else 0

    def environment(self, view: View) -> Mapping[str, str]:
        """The variables that the ranks of a node get."""
        return fact_request.environment(self.plan, view.node)

    # ---- comparing ----

    def odd_ones(self, path: str, views: Sequence[View] | None = None) -> list[tuple[View, Any, Any]]:
        """Nodes whose fact differs from that of most: `(view, its value, the usual value)`.

        Nodes that could not read it are left out.
        """
        views = self.machines if views is None else views
        return minority({view: view.get(path) for view in views if view.has(path)})

    # ---- saying ----

    def say(self, verdict: str, at: Subject = None, *, key: str | None = None, **said: Any) -> Finding:
        """A finding at a node, a GPU, a key of the run file (or `key=`, with one of those), or a place; the id is
        filled in later."""
        key = at if isinstance(at, str) else key
        where = at if isinstance(at, Where) else self.run.where(key) if key else Where()
        if isinstance(at, UsedGpu):
            where = replace(where, node=at.node, gpu=at.index)
        elif isinstance(at, View):
            where = replace(where, node=at.name)
        return Finding(id="", verdict=verdict, where=where, **said)

    def block(self, at: Subject = None, **said: Any) -> Finding:
        return self.say(BLOCK, at, **said)

    def warn(self, at: Subject = None, **said: Any) -> Finding:
        return self.say(WARN, at, **said)

    def note(self, at: Subject = None, **said: Any) -> Finding:
        return self.say(NOTE, at, **said)


def on_gpus(context: Context) -> bool:
    """The run computes on GPUs."""
    return context.uses_gpu


def on_host(context: Context) -> bool:
    """The training environment is the nodes' own."""
    return context.on_host
