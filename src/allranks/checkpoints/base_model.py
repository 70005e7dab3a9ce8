"""A base model on disk: which of its files holds which tensor, and where. Headers alone are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.weights import Damaged, Tensor, read_header
from allranks.core import Finding
from allranks.core.text import printable

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
"""The types that a merge can add to, and their bytes."""

HEADS = ("lm_head.weight", "embed_out.weight", "output.weight", "output_layer.weight")
"""How the names of output layers end that are stored."""

WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
"""How the names of transformers' classes end that have an output layer over the vocabulary."""


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
        """Whether the output layer is the embedding: it is then stored once. transformers 4 writes the key only if it
        is not the class's own default, which is True for Gemma and GPT-2."""
        said = self.config.get("tie_word_embeddings")
        if said is None:
            return self._writes_words and not any(name.endswith(HEADS) for name in self.places)
        return bool(said)

    @property
    def _writes_words(self) -> bool:
        classes = self.config.get("architectures") or (WRITERS[0],)
        return any(str(name).endswith(WRITERS) for name in classes)

    def is_turned(self, module: str) -> Optional[bool]:
        """Whether a module's weight is stored as [in, out], as transformers' Conv1D does (GPT-2); None if the sizes do
        not tell."""
        return self._turned.get(module.rpartition(".")[2])

    @cached_property
    def _turned(self) -> Mapping[str, bool]:
        """{last part of the modules' names: whether their weights are [in, out]}: a bias has one value for each output.
        A square weight says nothing; its namesakes in other modules do."""
        seen: Dict[str, Set[bool]] = {}
        for name, place in self.places.items():
            module, _, end = name.rpartition(".")
            shape, bias = place.tensor.shape, self.shape(module + ".bias")
            if (
                end == "weight"
                and len(shape) == 2
                and shape[0] != shape[1]
                and bias in ((shape[0],), (shape[1],))
            ):
                seen.setdefault(module.rpartition(".")[2], set()).add(bias == (shape[1],))
        return {leaf: True in found for leaf, found in seen.items() if len(found) == 1}


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
