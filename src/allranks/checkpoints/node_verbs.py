"""Requests to a node about its checkpoints: list them, verify one, and send its files for a copy.

A request names a folder (`path`) or a run of this node (`run`). The caller is the same user, over its own connection;
only `prune` changes anything, by its own rules.
"""

from __future__ import annotations

import base64
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from allranks.checkpoints import copying, delivery, resuming, script_saves
from allranks.checkpoints.find import find, step_of, written
from allranks.checkpoints.prune import prune
from allranks.checkpoints.verify import verify
from allranks.core import BadInput, Problem
from allranks.core.untrusted import integer, mapping, text
from allranks.node.paths import RunDirectory, read_json, read_object

PIECE_BYTES = 1 << 20
MOST_FILES = 10_000


def answer(
    what: str, wanted: Mapping[str, Any], gone: Callable[[], bool]
) -> Union[Dict[str, Any], Iterator[Any]]:
    """A document, or the lines of `pieces`. Raises BadInput and OSError."""
    return pieces(wanted, gone) if what == "pieces" else document(what, wanted)


def document(what: str, wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """The answer to `list`, `verify`, `prune`, `files` or `receive`. Raises BadInput and OSError."""
    verbs = {
        "list": listed,
        "verify": verified,
        "prune": pruned,
        "files": files,
        "receive": delivery.received,
    }
    if what not in verbs:
        raise BadInput(
            Problem(saw=f"{what!r} is not a question for checkpoints.", do=", ".join([*verbs, "pieces"]))
        )
    return verbs[what](wanted)


def place(wanted: Mapping[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """The folder that a request means, and what its run promised of an adapter. Raises BadInput."""
    run_id = text(wanted.get("run"))
    if run_id is None:
        path = os.path.expanduser(text(wanted.get("path")) or "")
        if not os.path.isabs(path):
            raise BadInput(Problem(saw=f"{path!r} is not an absolute path.", do="/path, or ~/path"))
        return path, {}
    directory = RunDirectory(run_id)
    folder = text(read_object(directory.keeper.state).get("output_dir"))
    if not directory.is_marked():
        raise BadInput(Problem(saw=f"there is no run {run_id} here.", do="allranks ps lists the runs"))
    if folder is None:
        raise BadInput(Problem(saw=f"{run_id} has saved nothing.", do=f"allranks logs {run_id}"))
    return folder, expected(directory)


def expected(directory: RunDirectory) -> Dict[str, Any]:
    """The adapter that the run's plan promised, from the head's job."""
    for name in directory.nodes():
        promised = mapping(read_object(directory.node(name).job).get("keep")).get("adapter")
        if isinstance(promised, dict):
            return promised
    return {}


def to_verify(wanted: Mapping[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """As `place`; of a run of a script that promised no adapter, where it saved last."""
    folder, expect = place(wanted)
    saves = [] if expect else saved_by(wanted)
    return (saves[0] if saves else folder), expect


def saved_by(wanted: Mapping[str, Any]) -> List[str]:
    """The paths that a run's ranks saved to, as its keeper judged them at the end or last heard of; newest first."""
    run_id = text(wanted.get("run"))
    return [] if run_id is None else script_saves.saved_by(read_object(RunDirectory(run_id).keeper.state))


def with_base(expect: Mapping[str, Any]) -> Dict[str, Any]:
    base = text(expect.get("base_model"))
    return {**expect, "base_config": read_json(os.path.join(base, "config.json"))} if base else dict(expect)


def listed(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """`{"folder", "checkpoints"}`, newest first. With `quick` none is read through: `whole` is null then."""
    folder, expect = place(wanted)
    expect = with_base({key: value for key, value in expect.items() if key != "step"})
    real = os.path.realpath(folder)
    found = []
    elsewhere = [path for path in saved_by(wanted) if os.path.exists(path)]
    for path in dict.fromkeys([*existing(folder), *elsewhere]):
        is_file = os.path.isfile(path)
        names = [""] if is_file else copying.files_below(path)
        one: Dict[str, Any] = {
            "path": path,
            "name": "final" if os.path.realpath(path) == real else below(path, folder),
            "step": step_of(path),
            "bytes": os.stat(path).st_size if is_file else sum(copying.size_of(path, name) for name in names),
            "files": len(names),
            "written_at": written(path) or os.stat(path).st_mtime,
            "resumable": not resuming.lacks(path),
            "whole": None,
            "kind": None,
            "findings": [],
        }
        if not wanted.get("quick"):
            report = verify(path, expect)
            one.update(
                whole=report.whole, kind=report.kind, step=report.step if one["step"] is None else one["step"]
            )
            one["findings"] = [f.as_json() for f in report.findings if f.verdict not in ("ok", "note")]
        found.append(one)
    return {"folder": folder, "checkpoints": found}


def below(path: str, folder: str) -> str:
    """The name in the folder, or the path of what lies elsewhere."""
    name = os.path.relpath(path, folder)
    return path if name.startswith(os.pardir) else name


def existing(folder: str) -> List[str]:
    """The checkpoints of a folder, newest first; the folder itself too if it is one of another kind than an adapter."""
    try:
        found = find(folder)
        kind = "" if folder in found else verify(folder).kind
        if kind not in ("adapter", "") and not (kind == "deepspeed" and found):
            found.insert(0, folder)
        return found
    except FileNotFoundError:
        raise BadInput(Problem(saw=f"{folder}: no such folder", do="allranks checkpoints list RUN")) from None
    except NotADirectoryError:
        raise BadInput(Problem(saw=f"{folder} is a file", do="the folder of the checkpoints")) from None


def verified(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    folder, expect = to_verify(wanted)
    return verify(folder, with_base(expect)).as_json()


def pruned(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    folder, expect = place(wanted)
    keep, dry_run = integer(wanted.get("keep")), wanted.get("dry_run") is not False
    try:
        return prune(folder, keep or 3, expect=expect, dry_run=dry_run, vouched=True).as_json()
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(Problem(saw=f"{folder}: no such folder", do="allranks checkpoints list RUN")) from None


# ---- to be copied ----


def files(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """One checkpoint with the size and SHA-256 of each of its files: `{"path", "report", "files"}`.

    Of a folder with several, the newest that is whole, or the one of `step`. `single`: it is one file of that path.
    If a run's output folder has none, its script's newest save elsewhere counts.
    """
    folder, expect = place(wanted)
    saves = [path for path in saved_by(wanted) if os.path.exists(path)]
    if saves and not existing(folder):
        folder = saves[0]
    if os.path.isfile(folder):
        return single_file(os.path.realpath(folder), integer(wanted.get("step")))
    path = chosen(folder, integer(wanted.get("step")), expect)
    report = verify(path, with_base({key: value for key, value in expect.items() if key != "step"}))
    names = copying.files_below(path)
    if len(names) > MOST_FILES:
        raise BadInput(
            Problem(saw=f"{path} holds more than {MOST_FILES:,} files", do="the folder of one checkpoint")
        )
    described = []
    for name in names:
        target = os.path.join(path, name)
        described.append(
            {"name": name, "bytes": copying.size_of(path, name), "sha256": copying.digest_of(target)}
        )
    return {"path": path, "report": report.as_json(), "files": described}


def single_file(path: str, step: Optional[int]) -> Dict[str, Any]:
    """A checkpoint that is one file, such as `torch.save` writes."""
    if step is not None:
        raise BadInput(Problem(saw=f"{path} is a file, of one step", do="leave --step out"))
    folder, name = os.path.split(path)
    one = {"name": name, "bytes": copying.size_of(folder, name), "sha256": copying.digest_of(path)}
    return {"path": path, "report": verify(path).as_json(), "files": [one], "single": True}


def chosen(folder: str, step: Optional[int], expect: Mapping[str, Any]) -> str:
    """The folder itself if it is one checkpoint, else the newest whole one in it, or that of `step`."""
    candidates = existing(folder)
    if step is not None:
        of_step = [path for path in candidates if step_of(path) == step]
        if not of_step:
            there = ", ".join(str(step_of(path)) for path in candidates) or "none"
            raise BadInput(
                Problem(saw=f"{folder} has no checkpoint of step {step}; there are: {there}", do="--step N")
            )
        return of_step[0]
    wanted = {key: value for key, value in expect.items() if key != "step"}
    whole = next((path for path in candidates if verify(path, wanted).whole), None)
    if whole is None and candidates and os.path.realpath(candidates[0]) != os.path.realpath(folder):
        saw = f"{folder} has {len(candidates)} checkpoints, and none is whole"
        raise BadInput(Problem(saw=saw, do="allranks checkpoints list says what each lacks"))
    return whole or folder


def pieces(wanted: Mapping[str, Any], gone: Callable[[], bool]) -> Iterator[Dict[str, Any]]:
    """`{"name", "offset", "data"}` (base64) of the files of one checkpoint: `files` says from which byte of which."""
    folder = text(wanted.get("path")) or ""
    if os.path.isfile(folder):
        folder, single = os.path.split(folder)
        known = {single}
    else:
        known = set(copying.files_below(folder))
    for name, offset in dict(mapping(wanted.get("files"))).items():
        if name not in known:
            raise BadInput(
                Problem(saw=f"{name} is no longer a file of {folder}.", do="the same command again")
            )
        with os.fdopen(os.open(os.path.join(folder, name), copying.READ), "rb", buffering=0) as file:
            at = file.seek(integer(offset) or 0)
            for part in iter(lambda file=file: file.read(PIECE_BYTES), b""):
                if gone():
                    return
                yield {"name": name, "offset": at, "data": base64.b64encode(part).decode()}
                at += len(part)
