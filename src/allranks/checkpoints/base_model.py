"""A base model on disk: which of its files holds which tensor, and where. Headers alone are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.weights import Damaged, Tensor, read_header
from allranks.core import Finding
from allranks.core.text import printable

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
"""The types that a merge can add to, and their bytes."""


class Refused(Exception):
    """The export cannot be done; `findings` say why."""

    def __init__(self, *findings: Finding):
        super().__init__("; ".join(f.saw for f in findings))
        self.findings = findings


@dataclass(frozen=True)
class TensorLocation:
    """A tensor and the file that it is in."""

    file: str
    tensor: Tensor


@dataclass(frozen=True)
class BaseModel:
    """`files` in their order; `places` by the tensor's name; `config` is config.json."""

    path: str
    config: Mapping[str, Any]
    files: Tuple[str, ...]
    places: Mapping[str, TensorLocation]

    @property
    def bytes(self) -> int:
        return sum(p.tensor.end - p.tensor.begin for p in self.places.values())

    def shape(self, name: str) -> Optional[Tuple[int, ...]]:
        place = self.places.get(name)
        return None if place is None else place.tensor.shape

    @property
    def is_tied(self) -> bool:
        """Whether the output layer is the embedding: it is then stored once."""
        return bool(self.config.get("tie_word_embeddings"))


def read(path: str) -> BaseModel:
    """Raises Refused if an adapter cannot be merged into it."""
    try:
        with Folder(path) as folder:
            config = _config(folder)
            index = folder.read_json(INDEX) if folder.has(INDEX) else None
            files = _files(folder, index)
            places: Dict[str, TensorLocation] = {}
            for file in files:
                for tensor in _header(folder, file):
                    places[tensor.name] = TensorLocation(file, tensor)
            _agrees(folder.path, index, places)
            return BaseModel(folder.path, config, tuple(files), places)
    except OSError as error:
        raise Refused(found("export-base-missing", path, error.strerror or str(error))) from None
    except Damaged as error:
        raise Refused(found("export-base-missing", path, error.saw)) from None
    except ValueError as error:
        raise Refused(found("export-base-missing", path, printable(error))) from None


def _config(folder: Folder) -> Dict[str, Any]:
    if not folder.has("config.json"):
        raise Refused(found("export-base-missing", folder.path, "no config.json"))
    return folder.read_json("config.json")


def _files(folder: Folder, index: Optional[Mapping[str, Any]]) -> List[str]:
    if index is not None:
        table = index.get("weight_map")
        if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
            raise ValueError("%s holds no weight_map" % INDEX)
        return sorted(set(table.values()))
    if folder.has(SINGLE):
        return [SINGLE]
    pickles = [name for name in folder.names() if name.endswith((".bin", ".pt", ".pth"))]
    saw = "its weights are pickles (%s)" % pickles[0] if pickles else "no %s and no %s" % (SINGLE, INDEX)
    raise Refused(found("export-base-missing", folder.path, saw))


def _header(folder: Folder, file: str) -> List[Tensor]:
    fd, size = folder.open(file)
    try:
        return read_header(fd, size)
    finally:
        os.close(fd)


def _agrees(path: str, index: Optional[Mapping[str, Any]], places: Mapping[str, TensorLocation]) -> None:
    """A download that broke off lacks tensors that its index promises."""
    if index is None:
        return
    lost = [name for name, file in index["weight_map"].items()
            if name not in places or places[name].file != file]  # fmt: skip
    if lost:
        saw = "%d of %d tensors of %s are not where it says, first %s" % (
            len(lost), len(index["weight_map"]), INDEX, printable(lost[0]))  # fmt: skip
        raise Refused(found("export-base-missing", path, saw, evidence=tuple(map(printable, lost))))
