"""Images that Apptainer builds from a registry's (`docker://…`): one file per reference and allranks home.

They are in `<home>/images`, which containers can read but cannot write to. A build holds a lock, so that nodes that
share the home build once; it is under its name only when it is whole. `clean --files` removes those that no run names.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import subprocess
import time
from typing import Any, Dict, List, Mapping

from allranks.core import BadInput, Problem
from allranks.core.text import printable
from allranks.node.paths import home, read_object, write_json
from allranks.node.upload import last_lines, locked

REFERENCE = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9][A-Za-z0-9./~_:@+-]*")
BUILD_SECONDS = 3500.0
"""Less than the controller waits: a training image has 10 to 30 GB, and is written twice."""

USED_SECONDS = 8 * 3600.0
"""An image that was asked for so recently may belong to a run that is being prepared: its record comes later, after the
other nodes' images, the operators and a dataset that may take four hours."""


def answer(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """The image of `reference`: `{"path", "sha256", "bytes", "built"}`, or `{"reason"}` why there is none.

    Raises BadInput and OSError.
    """
    reference = str(wanted.get("reference"))
    if not REFERENCE.fullmatch(reference):
        raise BadInput(
            Problem(saw=f"{printable(reference)} is not the reference of an image.", do="docker://NAME")
        )
    place = place_of(reference)
    with locked(place):
        kept = read_object(place + ".json")
        if (
            kept.get("reference") == reference
            and os.path.isfile(place)
            and os.path.getsize(place) == kept.get("bytes")
        ):
            os.utime(place + ".json")
            return {**told(kept), "path": place, "built": False}
        return build(reference, place)


def place_of(reference: str) -> str:
    name = hashlib.sha256(reference.encode()).hexdigest()[:32]
    return os.path.join(home(), "images", name + ".sif")


def told(kept: Mapping[str, Any]) -> Dict[str, Any]:
    return {"sha256": kept.get("sha256"), "bytes": kept.get("bytes")}


def build(reference: str, place: str) -> Dict[str, Any]:
    draft = place + ".draft"
    remove(draft)
    try:
        done = subprocess.run(
            ["apptainer", "pull", draft, reference],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=BUILD_SECONDS,
        )
        reason = "" if done.returncode == 0 else last_lines(done.stdout) or f"exit code {done.returncode}"
    except FileNotFoundError:
        reason = "there is no program apptainer on the path"
    except subprocess.TimeoutExpired:
        reason = f"it took longer than {BUILD_SECONDS:,.0f} s"
    if not reason and not os.path.isfile(draft):
        reason = "apptainer pull ended with 0 and wrote no file"
    if reason:
        remove(draft)
        return {"reason": reason}
    kept = {
        "reference": reference,
        "bytes": os.path.getsize(draft),
        "sha256": digest(draft),
        "made_at": time.time(),
    }
    os.rename(draft, place)
    write_json(place + ".json", kept)
    return {**told(kept), "path": place, "built": True}


def digest(path: str) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            sha.update(part)
    return sha.hexdigest()


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def unused(without: str = "") -> List[str]:
    """The images that allranks built here and that no run's record names, unless one was asked for lately.

    The record of the run `without` does not count.
    """
    folder = glob.escape(home())
    named = set()
    for record in glob.glob(os.path.join(folder, "runs", "*", "nodes", "*", "container.json")):
        if os.path.relpath(record, os.path.join(home(), "runs")).split(os.sep)[0] != without:
            named.add(str(read_object(record).get("reference")))
    records = sorted(glob.glob(os.path.join(folder, "images", "*.sif.json")))
    places = [record[: -len(".json")] for record in records]
    return [place for place in places if place not in named and is_ours(place) and not is_fresh(place)]


def remove_unused() -> List[str]:
    """Removes them; their paths. One that cannot be removed stays, for a later clean."""
    removed = []
    for place in unused():
        try:
            with locked(place):
                if is_fresh(place):
                    continue
                remove(place)
                remove(place + ".json")
        except OSError:
            continue
        removed.append(place)
    return removed


def is_fresh(place: str) -> bool:
    try:
        return time.time() - os.stat(place + ".json").st_mtime < USED_SECONDS
    except OSError:
        return True


def is_ours(place: str) -> bool:
    """A regular file that is where its own record says, and no link."""
    reference = str(read_object(place + ".json").get("reference"))
    return place_of(reference) == place and os.path.isfile(place) and not os.path.islink(place)
