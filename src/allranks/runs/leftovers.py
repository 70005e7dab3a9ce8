"""The leftovers of ended runs, as `clean` shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from allranks.core.untrusted import mapping
from allranks.transport import folded


@dataclass(frozen=True)
class Leftovers:
    """What `clean` would remove, by run."""

    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    directories: dict[str, str] = field(default_factory=dict)
    running: tuple[str, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)
    """Runs that may not have ended, each with the reason. Nothing of them is removed."""
    models: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The scripts' saves in the run directories, by run: `{node, path, bytes}`."""
    with_models: bool = False
    """Whether the models are removed, too."""

    def lines(self) -> list[str]:
        lines = [f"{run_id} is still running: allranks stop {run_id}" for run_id in self.running]
        lines += [
            f"{run_id} is left alone, its state is unknown: {why}" for run_id, why in self.unknown.items()
        ]
        for run_id, nodes in self.runs.items():
            said = [(str(node["node"]), text) for node in nodes for text in describe(node)]
            lines += [f"{run_id}  {names}  {text}" for names, text in folded(said)]
            if run_id in self.directories:
                lines.append(f"{run_id}  {self.directories[run_id]}")
                images = [(str(node["node"]), str(path)) for node in nodes for path in node.get("images", ())]
                lines += [f"{run_id}  {names}  {path}, an Apptainer image" for names, path in folded(images)]
        for run_id, saved in self.models.items():
            does = "is removed" if self.with_models else "stays; --models removes it"
            said = [
                (str(one["node"]), f"{one['path']} ({one['bytes'] / 2**20:,.1f} MiB): a saved model, {does}")
                for one in saved
            ]
            lines += [f"{run_id}  {names}  {text}" for names, text in folded(said)]
        return lines or ["Nothing to clean up."]

    def as_json(self) -> dict[str, Any]:
        told = {"running": list(self.running), "unknown": self.unknown}
        return {"runs": self.runs, "directories": self.directories, "models": self.models, **told}


def describe(node: dict[str, Any]) -> list[str]:
    """The leftovers on one node, one line each."""
    lines = [f"could not be looked at: {node['error']}"] if "error" in node else []
    lines += [f"pid {process['pid']}  {process.get('name', '')}" for process in node.get("processes", ())]
    lines += [str(thing) for key in ("files", "containers") for thing in node.get(key, ())]
    alone = [mapping(claim) for claim in node.get("foreign", ())]
    lines += [
        f"left alone: pid {one.get('pid')}  {one.get('name', '')}, {one.get('why', '')}" for one in alone
    ]
    return lines
