"""Collects the data of a checkpoint's page from the files in its folder alone: its run may be on another machine, or
gone.

Missing or damaged parts are listed in `unreadable`, never guessed. Nothing is unpickled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import allranks
from allranks.checkpoints import adapter as parts
from allranks.checkpoints import copying, resuming, serving
from allranks.checkpoints.find import step_of
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.manifest import MANIFEST, TRAINER_STATE
from allranks.checkpoints.node_verbs import existing
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.verify import CONFIG, WEIGHTS, verify
from allranks.checkpoints.weights import Damaged, read_header
from allranks.core.text import printable
from allranks.core.untrusted import integer, listing, mapping, mappings, number, text
from allranks.output.report_series import Series, flat

RESULTS = ("all_results.json", "train_results.json", "eval_results.json")
"""Files that transformers' and LLaMA-Factory's scripts write beside a final adapter."""

CURVES = ("loss", "eval_loss", "learning_rate", "grad_norm")
"""The curves in a row of trainer_state.json's `log_history`."""

SCALARS = (
    "max_steps", "num_train_epochs", "epoch", "train_batch_size", "logging_steps", "save_steps", "eval_steps",
    "num_input_tokens_seen", "best_metric", "total_flos",
)  # fmt: skip
MOST_FILES = 500
MOST_README = 1 << 16


def chosen(folder: str) -> str:
    """The checkpoint to show: the newest whole one in a run's output folder, else the newest one, else the folder
    itself. Raises BadInput if there is no folder."""
    candidates = existing(folder)
    return next((path for path in candidates if verify(path).whole), candidates[0] if candidates else folder)


def collect(folder: str, report: Report, of: str | None = None) -> dict[str, Any]:
    """The facts of the checkpoint in `folder`, as JSON values. `report` is its verification; `of` is the folder that
    the user named."""
    unreadable: list[str] = []
    held = {name: document(folder, name, unreadable) for name in (MANIFEST, CONFIG, TRAINER_STATE, *RESULTS)}
    config, state, manifest = held[CONFIG], held[TRAINER_STATE], held[MANIFEST]
    curves = curves_of(state)
    lacking = resuming.lacks(folder) if report.whole and report.kind == "adapter" else ""
    return {
        "format": 1,
        "version": allranks.__version__,
        "made_at": time.time(),
        "path": folder,
        "kind": report.kind,
        "title": report.title,
        "text": report.text,
        "whole": True if report.whole else False if report.exit_code == 1 else None,
        "step": report.step if report.step is not None else step_of(folder),
        "tensors": report.tensors,
        "parameters": report.parameters,
        "findings": [finding.as_json() for finding in report.findings],
        "run": text(manifest.get("run")),
        "saved_at": number(manifest.get("saved_at")),
        "saved_by": text(manifest.get("allranks")),
        "world_size": integer(manifest.get("world_size")),
        "exact": text(manifest.get("exact")),
        "versions": {str(k): v for k, v in mapping(manifest.get("versions")).items() if text(v)},
        "base_model": text(config.get("base_model_name_or_path")) or text(manifest.get("base_model")),
        "settings": {str(k): v for k, v in mapping(manifest.get("settings")).items() if is_plain(v)},
        "trainer": {name: state[name] for name in SCALARS if number(state.get(name)) is not None},
        "config": config,
        "vllm": vllm(folder, config, report),
        "resumable": None if report.kind != "adapter" or not report.whole else not lacking,
        "lacks": lacking,
        "curves": curves,
        "results": {k: v for name in RESULTS for k, v in held[name].items() if is_plain(v)},
        "readme": readme(folder),
        "files": files(folder, mapping(manifest.get("files"))),
        "others": others(folder, of or folder),
        "unreadable": unreadable,
    }


def is_plain(value: Any) -> bool:
    return number(value) is not None or text(value) is not None


def document(folder: str, name: str, unreadable: list[str]) -> dict[str, Any]:
    """A JSON object from the folder. Empty if there is none; if it cannot be read, `unreadable` gets the reason."""
    try:
        with Folder(folder) as held:
            return held.read_json(name)
    except FileNotFoundError:
        return {}
    except Damaged as error:
        reason = error.saw
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    unreadable.append(f"{name}: {printable(reason, 200)}")
    return {}


def readme(folder: str) -> str:
    try:
        with Folder(folder) as held:
            return held.read("README.md", MOST_README).decode("utf-8", "replace")
    except (OSError, Damaged):
        return ""


def curves_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """The curves in the trainer's log: each curve's points for a chart, and the values that are not finite numbers."""
    series = Series(CURVES)
    for row in mappings(listing(state.get("log_history"))):
        if integer(row.get("step")) is not None:
            series.put(0, integer(row["step"]) or 0, [row.get(name) for name in CURVES])
    found: dict[str, Any] = {}
    for name in CURVES:
        found[name] = flat(series.points(0, name))
        found[f"{name}_bad"] = [list(bad) for bad in series.bad([0], name)]
    return {**found, "width": series.width}


def vllm(folder: str, config: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """`rank`: the smallest --max-lora-rank that takes the adapter; or `refused`: why vLLM refuses it. Empty if the
    adapter was not read."""
    if report.kind != "adapter" or not report.whole:
        return {}
    try:
        with Folder(folder) as held:
            fd, size = held.open(WEIGHTS)
        with os.fdopen(fd, "rb"):
            adapter = parts.sort_tensors(parts.parse_config(config), list(read_header(fd, size)))
        refused = serving.refusals(adapter, config, None, WEIGHTS)
        return {"refused": refused[0].saw} if refused else {"rank": serving.needed_rank(adapter)}
    except (OSError, ValueError, Damaged):
        return {}


def files(folder: str, covered: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The folder's files with their sizes, and the digests of those that the manifest covers."""
    try:
        names = copying.files_below(folder)[:MOST_FILES]
        return [
            {
                "name": printable(name, 300),
                "bytes": copying.size_of(folder, name),
                "sha256": text(mapping(covered.get(name)).get("sha256")),
            }
            for name in names
        ]
    except OSError:
        return []


def others(folder: str, around: str) -> list[dict[str, Any]]:
    """The other checkpoints in the folder that the user named. They are not read."""
    real = os.path.realpath(folder)
    found = [path for path in existing(around) if os.path.realpath(path) != real]
    return [
        {"path": path, "step": step_of(path), "resumable": not resuming.lacks(path)} for path in found[:50]
    ]
