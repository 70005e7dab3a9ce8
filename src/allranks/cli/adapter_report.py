"""`report` for a checkpoint's folder, which may be on another machine than its run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.cli.common import print_json, require_writable
from allranks.core import BadInput, Problem, finding_from_json
from allranks.core.net import over_there
from allranks.core.text import spelt_out

TOLD = (
    "kind", "title", "whole", "step", "tensors", "parameters", "run", "base_model", "saved_at", "saved_by",
    "world_size", "settings", "versions", "trainer", "results", "resumable", "vllm", "findings",
)  # fmt: skip


def folder_of(text: str | None) -> str | None:
    """The folder that the text means; None if it means a run. If a run has this name, the run is meant, unless the
    text is a path. Raises BadInput for a place on another machine."""
    if not text:
        return None
    if Path(text).is_dir():
        is_path = os.sep in text or text in (".", "..")
        return str(Path(text).absolute()) if is_path or not is_run(text) else None
    if Path(text).name in ("adapter_model.safetensors", "adapter_config.json") and Path(text).is_file():
        return str(Path(text).absolute().parent)
    if over_there(text):
        do = f"allranks checkpoints fetch {text} TO, then allranks report TO"
        raise BadInput(Problem(f"{text} is on another machine; report reads a folder of this one", do=do))
    return None


def is_run(text: str) -> bool:
    from allranks.node.paths import RunDirectory
    from allranks.runs import index

    try:
        return bool(index.entry(text)) or Path(RunDirectory(text).marker).is_file()
    except BadInput:  # a run cannot have such a name
        return False


def report_folder(folder: str, options: argparse.Namespace) -> int:
    """Writes the page. The exit code is the same as of `checkpoints verify`: 0 whole, 1 damaged, 3 unknown."""
    from allranks.checkpoints import verify
    from allranks.output import adapter_facts, adapter_page
    from allranks.output.terminal import print_findings

    path = adapter_facts.chosen(folder)
    judged = verify(path)
    data = adapter_facts.collect(path, judged, folder)
    target = Path(options.output or f"{adapter_page.name_of(data)}-report.html")
    page = adapter_page.render(data)
    require_writable(target, lambda target: target.write_text(page, encoding="utf-8"))
    if options.json:
        print_json({"path": path, "report": str(target), **said(data)})
        return judged.exit_code
    print_findings([finding_from_json(one) for one in data["findings"]])
    print(target)
    print(spelt_out(f"{path}: {adapter_page.sentence(data)}"), file=sys.stderr)
    return judged.exit_code


def said(data: Mapping[str, Any]) -> dict[str, Any]:
    points = data["curves"]["loss"]
    loss = {"first": points[0][2], "last": points[-1][2]} if points else None
    others = [{"path": one["path"], "step": one["step"]} for one in data["others"]]
    return {**{name: data[name] for name in TOLD}, "loss": loss, "others": others}
