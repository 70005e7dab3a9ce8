"""The manifest `allranks.json` beside a saved adapter, and what else says of which step a folder is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.weights import Damaged
from allranks.core import Finding
from allranks.core.text import printable

MANIFEST = "allranks.json"
TRAINER_STATE = "trainer_state.json"
CHECKPOINT_NAME = re.compile(r"checkpoint-(\d{1,12})")
"""transformers' PREFIX_CHECKPOINT_DIR with the global step; LLaMA-Factory uses the same."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Manifest:
    """The manifest that a save wrote beside its files: `files` maps a relative path to (bytes, SHA-256 in hex); `exact`
    says whether the values are those that the ranks held (`worker.gather_check`), `again` how many came twice."""

    step: Optional[int] = None
    world_size: Optional[int] = None
    base_model: Optional[str] = None
    targets: Tuple[str, ...] = ()
    files: Mapping[str, Tuple[int, str]] = field(default_factory=dict)
    exact: Optional[str] = None
    again: int = 0


def parse(data: Mapping[str, Any]) -> Manifest:
    """Raises ValueError, with the reason, where the manifest cannot be used."""
    files: Dict[str, Tuple[int, str]] = {}
    table = data.get("files")
    if not isinstance(table, dict) or not table:
        raise ValueError("it names no files")
    for name, entry in table.items():
        if not name or os.path.isabs(name) or os.pardir in name.split("/") or "\0" in name:
            raise ValueError("it names %s, which is outside the folder" % printable(name))
        if not _is_file_name(name):
            raise ValueError("it names %s, which no file can be called" % printable(name))
        described: Dict[str, Any] = entry if isinstance(entry, dict) else {}
        size, sha = described.get("bytes", -1), described.get("sha256")
        if not is_whole_number(size) or not isinstance(sha, str) or not _SHA256.fullmatch(sha):
            raise ValueError("it has no size and SHA-256 for %s" % printable(name))
        files[name] = (size, sha)
    step, base, targets = data.get("step"), data.get("base_model"), data.get("targets")
    if step is not None and not is_whole_number(step):
        raise ValueError("its step is %s" % printable(step, 40))
    world, exact, again = data.get("world_size"), data.get("exact"), data.get("gathered_again")
    return Manifest(
        step=step,
        world_size=world if is_whole_number(world) else None,
        base_model=base if isinstance(base, str) else None,
        targets=tuple(str(t) for t in targets) if isinstance(targets, list) else (),
        files=files,
        exact=exact if isinstance(exact, str) else None,
        again=len(again) if isinstance(again, list) else 0,
    )


def _is_file_name(name: str) -> bool:
    try:
        return bool(os.fsencode(name))
    except UnicodeError:
        return False


def is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def named(folder: Folder) -> Tuple[Optional[Manifest], List[Finding]]:
    """The manifest, without a look at its files. (None, []) if there is none that can be used."""
    try:
        return parse(folder.read_json(MANIFEST)), []
    except (FileNotFoundError, Damaged, ValueError):
        return None, []


def read(folder: Folder) -> Tuple[Optional[Manifest], List[Finding]]:
    """The manifest, and every file of it that is missing or altered. (None, []) where there is none."""
    file = os.path.join(folder.path, MANIFEST)
    try:
        manifest = parse(folder.read_json(MANIFEST))
    except FileNotFoundError:
        if folder.has(MANIFEST):
            return None, [found("checkpoint-file-missing", file, "allranks.json is a link to nothing")]
        return None, []
    except Damaged as error:
        return None, [found(error.id, file, error.saw)]
    except ValueError as error:
        return None, [found("checkpoint-manifest-broken", file, printable(error))]
    findings = []
    for name in sorted(manifest.files):
        problem = _check(folder, name, *manifest.files[name])
        if problem is not None:
            findings.append(problem)
    return manifest, findings


def _check(folder: Folder, name: str, size: int, sha: str) -> Optional[Finding]:
    file = os.path.join(folder.path, printable(name))
    try:
        have_size, have_sha = folder.digest(name)
    except FileNotFoundError:
        return found("checkpoint-file-missing", file, "it is not there", "{:,} bytes".format(size))
    except Damaged as error:
        return found(error.id, file, error.saw)
    except OSError as error:
        return found("checkpoint-unreadable", file, "%s: %s" % (printable(name), error.strerror))
    if have_size != size:
        return found(
            "checkpoint-altered", file, "it has {:,} bytes".format(have_size), "{:,} bytes".format(size)
        )
    if have_sha != sha:
        return found("checkpoint-altered", file, "its SHA-256 is %s" % have_sha, sha)
    return None


def step_of_name(path: str) -> Optional[int]:
    """The step in a folder's name `checkpoint-<step>`; None for any other name."""
    match = CHECKPOINT_NAME.fullmatch(os.path.basename(os.path.normpath(path)))
    return int(match.group(1)) if match else None


def trainer_state(folder: Folder) -> Tuple[Optional[Mapping[str, Any]], List[Finding]]:
    """trainer_state.json, or why it cannot be used. (None, []) where there is none."""
    file = os.path.join(folder.path, TRAINER_STATE)
    try:
        state = folder.read_json(TRAINER_STATE)
    except FileNotFoundError:
        return None, []
    except Damaged as error:
        return None, [found(error.id, file, error.saw)]
    except ValueError as error:
        return None, [found("checkpoint-unfinished", file, "trainer_state.json: %s" % printable(error))]
    if not is_whole_number(state.get("global_step")):
        return None, [found("checkpoint-unfinished", file, "trainer_state.json names no global_step")]
    return state, []


def judge_steps(folder: Folder, manifest: Optional[Manifest], state: Optional[Mapping[str, Any]],
                expected: Optional[int]) -> Tuple[Optional[int], List[Finding]]:  # fmt: skip
    """(the step, findings) from the folder's name, the manifest and trainer_state.json together."""
    said: List[Tuple[str, int]] = []
    if manifest is not None and manifest.step is not None:
        said.append((MANIFEST, manifest.step))
    if state is not None:
        said.append((TRAINER_STATE, int(state["global_step"])))
    named = step_of_name(folder.path)
    if named is not None:
        said.append(("the folder's name", named))
    if not said:
        return None, []
    step = said[0][1]
    findings = []
    if len({value for _, value in said}) > 1:
        text = ", ".join("%s says step %d" % pair for pair in said)
        findings.append(found("checkpoint-mixed-steps", folder.path, text, "one step"))
    if expected is not None and step != expected:
        findings.append(found("checkpoint-wrong-step", folder.path, "step %d" % step, "step %d" % expected))
    return step, findings
