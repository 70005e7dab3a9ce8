"""Judges an adapter against what its run promised and against its base model. Pure; reads no file.

`expect` is a plain mapping, since it travels as JSON; every key may be missing or null:

| key | what |
|---|---|
| `base_config` | the base model's config.json |
| `regular` | true if every layer of the base has attention of one shape, and its modules have their usual names |
| `shapes` | {module path or its end: [out, in] of its weight}, or {tensor's name: its shape}, or both mixed |
| `base_model` | name or path of the base model |
| `rank`, `alpha`, `targets` | as the run asked for them |
| `trainable_parameters`, `tensors` | how many there must be |
| `trained` | true after real training: then an all-zero lora_B is damage |
| `step` | the step that the checkpoint must be of |
"""

from __future__ import annotations

import posixpath
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints.adapter import Adapter
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.consistency import pairs, pattern_of
from allranks.checkpoints.weights import Tensor
from allranks.core import Finding
from allranks.core.text import printable

READS_RESIDUAL = frozenset(
    (
        "q_proj",
        "k_proj",
        "v_proj",
        "qkv_proj",
        "q_a_proj",
        "kv_a_proj_with_mqa",
        "gate_proj",
        "up_proj",
        "gate_up_proj",
    )
)
WRITES_RESIDUAL = frozenset(("o_proj", "down_proj"))
"""In a regular model such a module reads from, or writes to, the residual stream: one of its sides is
`hidden_size`. (transformers, modeling_<family>.py. The exact shapes of all modules are the planner's and
come in `shapes`.)"""

_LAYER = re.compile(r"^(?:model\.)?layers\.(\d{1,9})\.")


def judge(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    """Every way in which the adapter is not the one that was asked for."""
    findings: List[Finding] = []
    findings.extend(_settings(adapter, expect, file))
    findings.extend(_base_name(adapter, expect, file))
    findings.extend(_base_layers(adapter, expect, file))
    findings.extend(_hidden_size(adapter, expect, file))
    findings.extend(_shapes(adapter, expect, file))
    findings.extend(_counts(adapter, expect, file))
    if not findings and not _is_complete(expect):
        findings.extend(_uneven(adapter, file))
    return findings


def _settings(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    config, findings = adapter.config, []
    rank, alpha, targets = expect.get("rank"), expect.get("alpha"), expect.get("targets")
    if rank is not None and config.rank != int(rank):
        findings.append(found("adapter-wrong-rank", file, "rank %d" % config.rank, "rank %d" % int(rank)))
    if alpha is not None and config.alpha != float(alpha):
        findings.append(
            found("adapter-wrong-alpha", file, "alpha %g" % config.alpha, "alpha %g" % float(alpha))
        )
    if isinstance(targets, (list, tuple)) and isinstance(config.targets, tuple):
        have, want = set(config.targets), {str(t) for t in targets}
        if have != want:
            saw = "target_modules " + ", ".join(printable(t) for t in sorted(have))
            findings.append(found("adapter-wrong-targets", file, saw, ", ".join(sorted(want))))
    return findings


def _base_name(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    """Two paths with the same last part are one model under two mounts (a container's and the host's)."""
    want, have = expect.get("base_model"), adapter.config.base_model
    if not want or not have:
        return []
    if posixpath.basename(posixpath.normpath(have)) == posixpath.basename(posixpath.normpath(str(want))):
        return []
    return [found("adapter-wrong-base", file, "base model %s" % printable(have), str(want))]


def _text_config(expect: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of the language model; empty where it is nested (then its layers have another path)."""
    config = expect.get("base_config")
    return config if isinstance(config, dict) and isinstance(config.get("num_hidden_layers"), int) else {}


def _layer(module: str) -> Optional[int]:
    match = _LAYER.match(module)
    return int(match.group(1)) if match else None


def _base_layers(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    config = _text_config(expect)
    if not config:
        return []
    layers = config["num_hidden_layers"] + int(config.get("num_nextn_predict_layers") or 0)
    have = {n for n in map(_layer, adapter.modules) if n is not None}
    if not have:
        return []
    if max(have) >= layers:
        saw = "an adapter on layer %d" % max(have)
        return [found("adapter-wrong-base", file, saw, "%d layers in the base's config.json" % layers)]
    gone = [n for n in range(config["num_hidden_layers"]) if n not in have]
    if adapter.config.layers is None and gone and expect.get("regular") and not _targets_name_layers(adapter):
        saw = "no tensor for %d of %d layers, first layer %d" % (
            len(gone),
            config["num_hidden_layers"],
            gone[0],
        )
        return [found("adapter-module-missing", file, saw)]
    return []


def _targets_name_layers(adapter: Adapter) -> bool:
    """Whether the config itself picks layers: a pattern, a number in a name, or experts and MLPs alone."""
    targets = adapter.config.targets
    if not isinstance(targets, tuple):
        return True
    if any(re.search(r"\d", name) for name in targets):
        return True
    return not any(".self_attn." in "." + module for module in adapter.modules)


def _hidden_size(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    config = _text_config(expect)
    hidden = config.get("hidden_size")
    if not expect.get("regular") or not isinstance(hidden, int):
        return []
    wrong = []
    for module, a, b in pairs(adapter):
        leaf = module.rpartition(".")[2]
        side = a.shape[-1] if leaf in READS_RESIDUAL else b.shape[0] if leaf in WRITES_RESIDUAL else hidden
        if _layer(module) is not None and side != hidden:
            wrong.append("%s: size %d" % (printable(module), side))
    if not wrong:
        return []
    return [found("adapter-wrong-base", file, wrong[0], "hidden_size %d in the base's config.json" % hidden,
                  evidence=tuple(wrong))]  # fmt: skip


class _Shapes:
    """The given shapes: of tensors by their exact name, of modules by their path or its end (the longest wins)."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]):
        self.modules: Dict[str, Tuple[int, ...]] = {}
        self.tensors: Dict[Tuple[str, Optional[str]], Tuple[int, ...]] = {}
        for name, shape in shapes.items():
            module, part = parts.split_name(str(name))
            self.tensors[(module, part)] = tuple(shape)
            if part is None:
                self.modules[module] = tuple(shape)

    def of(self, path: str) -> Optional[Tuple[int, ...]]:
        while path:
            if path in self.modules:
                return self.modules[path]
            path = path.partition(".")[2]
        return None

    def lacking(self, adapter: Adapter) -> List[str]:
        """Tensors of this base that must train and that the file lacks. Fused experts are left to the counts: PEFT
        saves their tensors under the module's name and not under the parameter's."""
        owners = {parts.owner(m) for m in adapter.modules}
        have = {parts.split_name(t.name) for t in _all(adapter)}
        missing = [m for m in self.modules if _LAYER.match(m) and _must_train(adapter, m) and m not in owners]
        for module, part in self.tensors:
            fused = any(parts.ends_with(module, name) for name in adapter.config.parameters)
            if part is not None and not fused and (module, part) not in have:
                missing.append(module + "." + part)
        return missing


def _shapes(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    given = expect.get("shapes")
    if not isinstance(given, dict) or not given:
        return []
    shapes, findings = _Shapes(given), []
    wrong = [text for pair in pairs(adapter) for text in _pair_against_base(shapes, *pair)]
    wrong += [text for tensor in _all(adapter) for text in _tensor_against_base(shapes, tensor)]
    if wrong:
        findings.append(found("adapter-shape-wrong", file, wrong[0], evidence=tuple(wrong)))
    missing = tuple(printable(name) for name in shapes.lacking(adapter))
    if missing:
        saw = "no tensor for %d modules or tensors, first %s" % (len(missing), missing[0])
        findings.append(found("adapter-module-missing", file, saw, evidence=missing))
    return findings


def _must_train(adapter: Adapter, module: str) -> bool:
    layers = adapter.config.layers
    chosen = layers is None or _layer(module) in layers
    return chosen and parts.is_target(adapter.config, module) is True


def _all(adapter: Adapter) -> List[Tensor]:
    return [t for tensors in adapter.modules.values() for t in tensors.values()] + adapter.others


def _pair_against_base(shapes: _Shapes, module: str, a: Tensor, b: Tensor) -> List[str]:
    base = shapes.of(parts.owner(module))
    if base is None or len(base) != 2 or len(a.shape) != 2 or len(b.shape) != 2:
        return []
    have = (b.shape[0], a.shape[1])
    if parts.EMBEDDING_A in a.name:
        have = (a.shape[1], b.shape[0])  # an embedding's weight is [entries, size]
    if have == base:
        return []
    return ["%s adapts [%d, %d], the base has %s" % (printable(module), have[0], have[1], list(base))]


def _tensor_against_base(shapes: _Shapes, tensor: Tensor) -> List[str]:
    module, part = parts.split_name(tensor.name)
    shape = shapes.tensors.get((module, part))
    if shape is None or shape == tensor.shape:
        return []
    return ["%s is %s, not %s" % (printable(tensor.name), list(tensor.shape), list(shape))]


def _counts(adapter: Adapter, expect: Mapping[str, Any], file: str) -> List[Finding]:
    """Embeddings that PEFT saved of its own accord did not train: both counts are right."""
    tensors = _all(adapter)
    named = [t for t in tensors if not _is_extra(adapter, t)]
    findings = []
    for key, word, total, trained in (
        ("tensors", "tensors", len(tensors), len(named)),
        ("trainable_parameters", "parameters", sum(t.count for t in tensors), sum(t.count for t in named)),
    ):
        want = expect.get(key)
        if want is not None and int(want) not in (total, trained):
            saw, expected = "{:,} {}".format(total, word), "{:,} {}".format(int(want), word)
            findings.append(found("adapter-count-differs", file, saw, expected))
    return findings


def _is_extra(adapter: Adapter, tensor: Tensor) -> bool:
    if parts.split_name(tensor.name)[1] is not None:
        return False
    path = "." + parts.split_name(tensor.name)[0] + "."
    if any("." + name + "." in path for name in adapter.config.modules_to_save):
        return False
    return not path.endswith((".bias.", ".trainable_tokens_delta."))


def _is_complete(expect: Mapping[str, Any]) -> bool:
    """Whether `expect` already says that nothing is missing."""
    shapes = expect.get("shapes")
    if isinstance(shapes, dict) and any(_LAYER.match(parts.split_name(str(path))[0]) for path in shapes):
        return True
    return expect.get("tensors") is not None or expect.get("trainable_parameters") is not None


def _uneven(adapter: Adapter, file: str) -> List[Finding]:
    """Layers with fewer adapted modules than their neighbours, where nothing says what there should be."""
    by_place: Dict[str, Dict[str, set]] = {}
    numbers: Dict[str, set] = {}
    for module in adapter.modules:
        match = re.match(r"(.*?\.)?(\d{1,9})\.", module)
        if match is None:
            continue
        stack = pattern_of(match.group(1) or "")
        holder, _, leaf = module[match.end() :].rpartition(".")
        numbers.setdefault(stack, set()).add(int(match.group(2)))
        if holder and not re.search(r"\d", holder):
            place = by_place.setdefault(stack + "*." + holder, {})
            place.setdefault(match.group(2), set()).add(leaf)
    gaps = []
    for place, table in sorted(by_place.items()):
        every = set().union(*table.values())
        for layer in sorted(table, key=int):
            lacking = every - table[layer]
            if lacking:
                text = "%s of layer %s lacks %s" % (place, layer, ", ".join(sorted(lacking)))
                gaps.append(printable(text))
    if adapter.config.layers is None:
        for stack, have in sorted(numbers.items()):
            if not _is_regular(sorted(have)):
                gaps.append(printable("%s: %d of layers %d to %d have adapters"
                                      % (stack, len(have), min(have), max(have))))  # fmt: skip
    return [found("adapter-layers-uneven", file, gaps[0], evidence=tuple(gaps))] if gaps else []


def _is_regular(numbers: List[int]) -> bool:
    """Every layer, or every n-th one (hybrid models have attention in every fourth or eighth layer)."""
    return len({numbers[i + 1] - numbers[i] for i in range(len(numbers) - 1)}) <= 1
