"""Judges an adapter by itself: pairs, ranks, targets and sizes. Pure; reads no file."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Sequence, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints.adapter import Adapter, Config
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.weights import Tensor
from allranks.core import WARN, Finding
from allranks.core.text import printable

_PAIRS = ((parts.A, parts.B), (parts.EMBEDDING_A, parts.EMBEDDING_B))
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def judge(adapter: Adapter, file: str, modules: Sequence[str] = ()) -> List[Finding]:
    """Every way in which the tensors and the config disagree with themselves.

    `modules` are paths (or their ends) of the base model's modules, if they are known: a target that is not
    among them was never trained, and is not lost.
    """
    findings: List[Finding] = []
    findings.extend(_pairs(adapter, file))
    findings.extend(_ranks(adapter, file))
    findings.extend(_foreign(adapter, file))
    findings.extend(_targets(adapter, file, modules))
    findings.extend(_saved_modules(adapter, file))
    findings.extend(_magnitudes(adapter, file))
    if all(f.verdict == WARN for f in findings):
        findings.extend(_sizes(adapter, file))
    return findings


def pairs(adapter: Adapter) -> Iterator[Tuple[str, Tensor, Tensor]]:
    """(module, A, B) of each complete pair, embeddings included."""
    for module, tensors in adapter.modules.items():
        for first, second in _PAIRS:
            if first in tensors and second in tensors:
                yield module, tensors[first], tensors[second]


def pattern_of(module: str) -> str:
    """The module's path with every number replaced: the same for the same place of every layer."""
    return _NUMBER.sub("*", module)


def _pairs(adapter: Adapter, file: str) -> List[Finding]:
    alone = []
    for module, tensors in sorted(adapter.modules.items()):
        for first, second in _PAIRS:
            if (first in tensors) != (second in tensors):
                have, lack = (first, second) if first in tensors else (second, first)
                alone.append("%s has %s and no %s" % (printable(module), have, lack))
        if not any(part in tensors for pair in _PAIRS for part in pair):
            alone.append("%s has %s and no pair" % (printable(module), ", ".join(sorted(tensors))))
    if not alone:
        return []
    return [found("adapter-unpaired", file, "%d modules lack a half: %s" % (len(alone), alone[0]),
                  evidence=tuple(alone))]  # fmt: skip


def ranks_of_pair(a: Tensor, b: Tensor) -> Tuple[int, int]:
    """The rank as each half of the pair has it: A is [rank, in, …], B is [out, rank, …]; -1 for no matrix."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        return -1, -1
    return a.shape[0], b.shape[1]


def _is_fused(config: Config, module: str) -> bool:
    """Fused experts: the tensors have `experts × r` rows (PEFT's ParamWrapper)."""
    base = parts.owner(module)
    return any("." in n and parts.ends_with(base, n.rpartition(".")[0]) for n in config.parameters)


def _ranks(adapter: Adapter, file: str) -> List[Finding]:
    wrong = []
    for module, a, b in pairs(adapter):
        rank_a, rank_b = ranks_of_pair(a, b)
        rank = parts.rank_of(adapter.config, parts.owner(module))
        fits = rank_a == rank_b and rank_a > 0
        if fits and rank is not None:
            fits = rank_a % rank == 0 if _is_fused(adapter.config, module) else rank_a == rank
        if not fits:
            wrong.append("%s: lora_A %s, lora_B %s" % (printable(module), list(a.shape), list(b.shape)))
    if not wrong:
        return []
    return [found("adapter-rank-differs", file, wrong[0], "rank %d by adapter_config.json" % adapter.config.rank,
                  evidence=tuple(wrong))]  # fmt: skip


def _foreign(adapter: Adapter, file: str) -> List[Finding]:
    config = adapter.config
    names = [m for m in sorted(adapter.modules) if parts.is_target(config, m) is False]
    names += [
        m
        for m in sorted(adapter.modules)
        if config.layers and parts.layer_of(m) not in (*config.layers, None)
    ]
    names += [t.name for t in adapter.others if not parts.is_saved_module(config, t)]
    if not config.dora:
        names += [m + ".lora_magnitude_vector" for m, t in adapter.modules.items() if parts.MAGNITUDE in t]
    if not names:
        return []
    shown = tuple(printable(name) for name in names)
    saw = "%d modules or tensors that the config does not name: %s" % (len(shown), shown[0])
    return [found("adapter-foreign-tensor", file, saw, evidence=shown)]


def _targets(adapter: Adapter, file: str, modules: Sequence[str]) -> List[Finding]:
    config, owners = adapter.config, {parts.owner(m) for m in adapter.modules}
    missing: List[str] = []
    if not isinstance(config.targets, str):
        missing += [t for t in config.targets or () if not any(parts.ends_with(m, t) for m in owners)]
    for name in config.parameters:
        holder = name.rpartition(".")[0]
        if holder and not any(parts.ends_with(m, holder) for m in owners):
            missing.append(name)
    nowhere = [t for t in missing if modules and not any(parts.ends_with(m, t) for m in modules)]
    findings = []
    for id, names in (
        ("adapter-target-missing", set(missing) - set(nowhere)),
        ("adapter-target-nowhere", nowhere),
    ):
        shown = tuple(printable(name) for name in sorted(names))
        if shown:
            findings.append(found(id, file, "no tensor for %s" % ", ".join(shown[:8]), evidence=shown))
    return findings


def _saved_modules(adapter: Adapter, file: str) -> List[Finding]:
    config = adapter.config
    paths = ["." + parts.split_name(t.name)[0] + "." for t in adapter.others]
    missing = [n for n in config.modules_to_save if not any("." + n + "." in path for path in paths)]
    optional = [n for n in missing if n in config.optional_modules]
    if len(optional) < len(config.optional_modules):  # one of the two classifier names is enough
        missing = [n for n in missing if n not in optional]
    if not missing:
        return []
    shown = ", ".join(printable(name) for name in missing)
    return [found("adapter-saved-module-missing", file, "no tensor for %s" % shown)]


def _magnitudes(adapter: Adapter, file: str) -> List[Finding]:
    if not adapter.config.dora:
        return []
    wrong = []
    for module, tensors in sorted(adapter.modules.items()):
        if parts.B not in tensors or len(tensors[parts.B].shape) < 2:
            continue
        magnitude, outputs = tensors.get(parts.MAGNITUDE), tensors[parts.B].shape[0]
        if magnitude is None:
            wrong.append("%s has no lora_magnitude_vector" % printable(module))
        elif magnitude.count != outputs:
            wrong.append(
                "%s has %d magnitudes for %d outputs" % (printable(module), magnitude.count, outputs)
            )
    return [found("adapter-magnitude-missing", file, wrong[0], evidence=tuple(wrong))] if wrong else []


def _sizes(adapter: Adapter, file: str) -> List[Finding]:
    """The same module of two layers has the same sizes. One odd one out of three or more is damage.

    Models whose layers differ by design (searched architectures) have many sizes, each more than once;
    only a size that a single layer has, against one size of all others, is judged.
    """
    sizes: Dict[str, Dict[Tuple[int, ...], List[str]]] = {}
    for module, a, b in pairs(adapter):
        if parts.rank_of(adapter.config, parts.owner(module)) is None:
            continue
        key = (a.shape[1], *a.shape[2:], b.shape[0], *b.shape[2:])
        sizes.setdefault(pattern_of(module), {}).setdefault(key, []).append(module)
    wrong = []
    for table in sizes.values():
        counts = sorted(table.values(), key=len)
        if len(counts) == 2 and len(counts[0]) == 1 and len(counts[1]) >= 2:
            wrong.append(counts[0][0])
    if not wrong:
        return []
    shown = tuple(printable(m) for m in sorted(wrong))
    saw = "%s has another size than in every other layer" % shown[0]
    return [found("adapter-shapes-disagree", file, saw, evidence=shown)]
