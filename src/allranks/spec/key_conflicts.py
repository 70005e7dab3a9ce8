"""Errors that come from two keys of a run file together, each of which would be right alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from allranks.core.net import is_loopback
from allranks.spec import launchers
from allranks.spec.reading import Reading
from allranks.spec.run import Run
from allranks.spec.tree import Entry, Table


def place_of(tree: Table, key: str) -> Entry:
    """The entry of a dotted key that was written."""
    section, _, name = key.partition(".")
    above = tree.entries[section]
    return above.node.entries[name] if name and isinstance(above.node, Table) else above


def entries_of(tree: Table, section: str) -> Mapping[str, Entry]:
    above = tree.entries.get(section)
    return above.node.entries if above is not None and isinstance(above.node, Table) else {}


def check_together(run: Run, tree: Table, reading: Reading) -> None:
    """Reports errors that come from two keys together, each of which would be right alone."""

    def place(key: str) -> Entry:
        return place_of(tree, key)

    def wrong(key: str, saw: str, why: str, do: str) -> None:
        reading.wrong(place(key), f"{key}: {saw}", why, do)

    if run.network.port and run.network.port == run.network.keeper_port:
        saw = f"{run.network.port} is also network.port."
        wrong("network.keeper_port", saw, "the rendezvous and the keeper cannot listen on one port.", "0")
    check_restarts(run, wrong)
    away = [node for node in run.cluster.nodes if not is_loopback(node.address)]
    launch = run.launch.with_
    if run.is_here and away:
        saw = f"{launch}, but {away[0].name} is {away[0].address}."
        why = f"{launch} starts everything on this machine."
        wrong("launch.with", saw, why, f"with: {launchers.DEFAULT}, or same_host: true")
    for other, value in others_of_conda(run).items():
        if value is not None:
            saw = f"environment.conda beside {other}."
            reading.wrong(
                place("environment.conda"),
                saw,
                "each of the two names the Python that trains.",
                "one of them",
            )
    if run.environment.conda and launch in launchers.names() and launchers.find(launch).starts_python:
        saw = f"environment.conda with launch.with: {launch}."
        why = f"{launch} starts the environment's Python by its path."
        do = "environment: {python: /path/of/it/bin/python}"
        reading.wrong(place("environment.conda"), saw, why, do)
    check_loading(run, tree, reading)
    receiver = run.alerts.get("webhook") or run.alerts.get("command")
    if run.alerts.get("level") and not receiver and "level" in entries_of(tree, "alerts"):
        wrong(
            "alerts.level", "nobody receives alerts.", "only a webhook or a command does.", "alerts.webhook"
        )
    for name in run.secrets:
        if name in run.env:
            saw = f"env.{name}: it is in secrets too."
            reading.wrong(
                place("env"), saw, "the file would show what secrets hides.", f"take {name} out of env"
            )


def check_restarts(run: Run, wrong: Callable[[str, str, str, str], None]) -> None:
    """Spares that leave somebody to train, and ranks on standby for a restart that may come."""
    count = len(run.cluster.nodes)
    if count and run.launch.spares >= count:
        saw = f"{run.launch.spares} of {count} nodes."
        wrong("launch.spares", saw, "none would be left to train.", f"spares: {count - 1} at most")
    if run.launch.standby and not run.launch.restarts:
        why = "the ranks on standby are those of the attempt after a restart."
        wrong("launch.standby", "launch.restarts is 0.", why, "restarts: 1, or no standby")


def check_loading(run: Run, tree: Table, reading: Reading) -> None:
    """Keys that only allranks' own loader knows, and a cache that every node can find."""
    cache = run.prepare.cache
    if cache is not None and not cache.startswith(("/", "~/")):
        saw = f"prepare.cache: {cache} is a relative path."
        reading.wrong(
            place_of(tree, "prepare.cache"), saw, "each node has its own cache.", "cache: /nvme/allranks"
        )
    if run.environment.loader == "own":
        return
    for key, value in (("prepare.cache", cache), ("environment.readers", run.environment.readers)):
        if value is not None:
            saw = f"{key}: it needs environment.loader: own."
            why = "only that loader reads parts of files."
            reading.wrong(place_of(tree, key), saw, why, "environment: {loader: own}")


def others_of_conda(run: Run) -> dict[str, Any]:
    """The other keys that name the Python, if `environment.conda` is set."""
    if run.environment.conda is None:
        return {}
    return {
        "environment.python": run.environment.python,
        "environment.lock": run.environment.lock,
        "container": run.container,
    }
