"""Is this checkpoint whole: every file, every tensor and every value, with a name for each kind of damage."""

from __future__ import annotations

import os
import re
from typing import Any, List, Mapping, Optional, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints import consistency, expectation, other_kinds
from allranks.checkpoints import manifest as manifests
from allranks.checkpoints.adapter import Adapter, Config
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.outcome import Report, once
from allranks.checkpoints.trainer_files import TEMPORARY, unfinished
from allranks.checkpoints.values import scan
from allranks.checkpoints.weights import Damaged, Tensor, read_header
from allranks.core import BLOCK, UNKNOWN, Finding
from allranks.core.text import printable

WEIGHTS, PICKLED, CONFIG = "adapter_model.safetensors", "adapter_model.bin", "adapter_config.json"
MAX_CONFIG_BYTES = 16 << 20
MOST_COMPARISONS = 10_000_000
"""Some seconds. Every expert of DeepSeek-V3 with ten target names is a tenth of it."""

_KNOWN = (WEIGHTS, CONFIG, manifests.MANIFEST, manifests.TRAINER_STATE)


def verify(path: str, expect: Optional[Mapping[str, Any]] = None) -> Report:
    """Judges the checkpoint in the folder `path`, or the one that is the file `path`; see `expectation` for `expect`.

    Of an adapter every byte of the weights is read once, and of each file that a manifest names; of another kind
    (`kinds/`) what tables, sizes and names tell. Never raises, however hostile the files are: an unreadable
    part is a finding of verdict `unknown`.
    """
    expect = dict(expect or {})
    path, file = os.fspath(path), None
    if not os.path.isdir(path) and os.path.lexists(path):
        path, file = os.path.split(os.path.abspath(path))
    try:
        with Folder(path) as folder:
            if is_adapter(folder, file, expect):
                return _verify(folder, expect)
            return other_kinds.judge(folder, file, expect) or _nothing(folder)
    except (FileNotFoundError, NotADirectoryError):
        return _report(path, [found("checkpoint-missing", path, "no such folder")])
    except OSError as error:
        return _report(path, [_unreadable(path, error)])
    except (
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:  # a form of damage that nobody has thought of
        saw = "%s: %s" % (type(error).__name__, printable(error))
        return _report(path, [found("checkpoint-unreadable", printable(path), saw)])


def _nothing(folder: Folder) -> Report:
    return Report(folder.path, (_no_weights(folder),), 0, 0, None, False, "", "")


def is_adapter(folder: Folder, file: Optional[str], expect: Mapping[str, Any]) -> bool:
    """Whether the folder holds an adapter, or one was promised."""
    names = (WEIGHTS, PICKLED, CONFIG)
    if file is not None:
        return file in names
    promised = any(expect.get(key) for key in ("rank", "targets", "base_model", "tensors", "shapes"))
    return promised or any(folder.has(name) for name in names)


def _unreadable(file: str, error: OSError) -> Finding:
    return found("checkpoint-unreadable", file, "%s" % (error.strerror or error))


def _report(
    path: str,
    findings: List[Finding],
    tensors: Tuple[Tensor, ...] = (),
    step: Optional[int] = None,
    gathered: str = "",
) -> Report:
    parameters = sum(t.count for t in tensors)
    whole = not any(f.verdict in (BLOCK, UNKNOWN) for f in findings)
    if whole:
        saw = "{:,} tensors, {:,} parameters".format(len(tensors), parameters)
        saw += ("" if step is None else ", step %d" % step) + gathered
        findings = [found("adapter-whole", path, saw), *findings]
    return Report(path, tuple(findings), len(tensors), parameters, step, whole)


def _of_other_adapters(folder: Folder, manifest: manifests.Manifest) -> List[Finding]:
    """The errors of the adapters beside the default one: the same save wrote each into a folder of its name."""
    findings: List[Finding] = []
    for name in folder.names():
        path = os.path.join(folder.path, name)
        if name.startswith(".") or os.path.islink(path) or not os.path.isdir(path):
            continue
        if manifests.step_of_name(name) is None and os.path.lexists(os.path.join(path, manifests.MANIFEST)):
            with Folder(path) as below:
                report = _verify(below, {}, others=False)
            if report.step in (None, manifest.step):  # else a save of another time
                findings += [f for f in report.findings if f.verdict in (BLOCK, UNKNOWN)]
    return findings


def _verify(folder: Folder, expect: Mapping[str, Any], others: bool = True) -> Report:
    manifest, findings = manifests.read(folder)
    state, more = manifests.trainer_state(folder)
    findings += more
    step, more = manifests.judge_steps(folder, manifest, state, expect.get("step"))
    findings += more
    findings += _finished(folder, manifest is not None, state is not None)
    config, more = _config(folder)
    findings += more
    tensors, more = _weights(folder, config, expect)
    findings += more
    if manifest is not None and not findings:
        findings += _manifest_agrees(folder, manifest, config)
    if manifest is not None and others:
        findings += _of_other_adapters(folder, manifest)
    return _report(
        folder.path, once(findings), tensors, step, "" if manifest is None else _gathered(manifest)
    )


def _gathered(manifest: manifests.Manifest) -> str:
    """The findings of the save's own check of its gather (`worker.gather_check`); none if it reported none."""
    if manifest.exact is None:
        return ""
    again = "; gathered again: %d" % manifest.again if manifest.again else ""
    return ", gather %s%s" % (printable(manifest.exact, 200), again)


def _finished(folder: Folder, has_manifest: bool, has_state: bool) -> List[Finding]:
    """Our save writes the manifest last, transformers trainer_state.json, PEFT adapter_config.json."""
    findings = unfinished(folder, has_manifest or has_state)
    left = [n for n in folder.names() if TEMPORARY.fullmatch(n) and any(known in n for known in _KNOWN)]
    if left:
        id = "checkpoint-leftover" if has_manifest else "checkpoint-unfinished"
        findings.append(found(id, folder.path, "temporary files: %s" % ", ".join(map(printable, left[:5]))))
    marked = has_manifest or has_state or manifests.step_of_name(folder.path) is None
    if not marked and not findings:
        findings.append(found("checkpoint-unmarked", folder.path, "no manifest and no trainer_state.json"))
    return findings


def _config(folder: Folder) -> Tuple[Optional[Config], List[Finding]]:
    file = os.path.join(folder.path, CONFIG)
    try:
        config = parts.parse_config(folder.read_json(CONFIG, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        if not folder.has(WEIGHTS):
            return None, []  # no adapter at all: one finding says so
        return None, [found("adapter-config-missing", file, "no adapter_config.json")]
    except Damaged as error:
        return None, [found(error.id, file, error.saw)]
    except OSError as error:
        return None, [_unreadable(file, error)]
    except (ValueError, re.error) as error:
        return None, [found("adapter-config-broken", file, printable(error))]
    if config.kind != "LORA":
        return config, [found("adapter-kind-unknown", file, "peft_type %s" % config.kind, "LORA")]
    return config, []


def _weights(
    folder: Folder, config: Optional[Config], expect: Mapping[str, Any]
) -> Tuple[Tuple[Tensor, ...], List[Finding]]:
    file = os.path.join(folder.path, WEIGHTS)
    try:
        fd, size = folder.open(WEIGHTS)
    except FileNotFoundError:
        return (), [_no_weights(folder)]
    except Damaged as error:
        return (), [found(error.id, file, error.saw)]
    except OSError as error:
        return (), [_unreadable(file, error)]
    try:
        tensors = read_header(fd, size)
        return tuple(tensors), _judge(fd, tensors, config, expect, file)
    except Damaged as error:
        return (), [found(error.id, file, error.saw, error.expected)]
    except OSError as error:
        return (), [_unreadable(file, error)]
    finally:
        os.close(fd)


def _no_weights(folder: Folder) -> Finding:
    if folder.has(PICKLED):
        return found(
            "adapter-pickled", os.path.join(folder.path, PICKLED), "adapter_model.bin and no safetensors"
        )
    file = os.path.join(folder.path, WEIGHTS)
    if folder.has(WEIGHTS):
        return found("adapter-missing", file, "adapter_model.safetensors is a link to nothing")
    adapters = {n for n in folder.names() if manifests.CHECKPOINT_NAME.fullmatch(n)}
    below = adapters.union(other_kinds.below(folder))
    fix = "name one of its checkpoints: %s." % ", ".join(sorted(below)[:5]) if below else ""
    return found("adapter-missing", file, "no adapter_model.safetensors", fix=fix)


def _judge(
    fd: int, tensors: List[Tensor], config: Optional[Config], expect: Mapping[str, Any], file: str
) -> List[Finding]:
    if not tensors:
        return [found("adapter-empty", file, "a header and no tensor")]
    hollow = tuple(printable(t.name) + " " + str(list(t.shape)) for t in tensors if t.count == 0)
    if hollow:
        saw = "%d of %d tensors have a dimension of size 0: %s" % (len(hollow), len(tensors), hollow[0])
        return [found("adapter-ungathered", file, saw, evidence=hollow)]
    findings: List[Finding] = []
    adapter = None
    if config is not None and config.names * len(tensors) > MOST_COMPARISONS:
        saw = "{:,} tensors and {:,} names in adapter_config.json".format(len(tensors), config.names)
        return [found("adapter-too-large", file, saw)]
    if config is not None and config.kind == "LORA":
        adapter = parts.sort_tensors(config, tensors)
        shapes = expect.get("shapes")
        known = shapes if isinstance(shapes, dict) else {}
        modules = tuple(parts.owner(parts.split_name(str(path))[0]) for path in known)
        findings += consistency.judge(adapter, file, modules)
        if known:  # the planner's shapes decide, a guess from the other layers is not needed
            findings = [f for f in findings if f.verdict != UNKNOWN]
        if all(f.verdict != BLOCK for f in findings):
            findings += expectation.judge(adapter, expect, file)
        if config.tries.refused is not None:
            findings.append(found("adapter-pattern-not-tried", file, printable(config.tries.refused)))
    return findings + _values(fd, tensors, adapter, bool(expect.get("trained")), file)


def _values(
    fd: int, tensors: List[Tensor], adapter: Optional[Adapter], trained: bool, file: str
) -> List[Finding]:
    bad, zero = [], set()
    for tensor in tensors:
        finite, is_zero = scan(fd, tensor)
        if not finite:
            bad.append(printable(tensor.name))
        if is_zero:
            zero.add(tensor.name)
    findings = []
    if bad:
        saw = "NaN or infinity in %d of %d tensors: %s" % (len(bad), len(tensors), bad[0])
        findings.append(found("adapter-not-finite", file, saw, evidence=tuple(bad)))
    if trained and adapter is not None:
        findings += _untrained(adapter, zero, file)
    return findings


def _untrained(adapter: Adapter, zero: "set[str]", file: str) -> List[Finding]:
    """The half that starts at zero: lora_B, and lora_embedding_A of an embedding (PEFT's initialization).

    A module that is zero in some layers only lost its gradient or its data there. A place that is zero in
    every layer may have had no data (an image tower), an expert may have had no token: those are warned of.
    """
    starts = {}
    for module, tensors in adapter.modules.items():
        tensor = tensors.get(parts.B) or tensors.get(parts.EMBEDDING_A)
        if tensor is not None:
            starts[module] = tensor.name in zero
    dead = sorted(module for module, is_zero in starts.items() if is_zero)
    if not dead:
        return []
    shown = tuple(printable(m) for m in dead)
    saw = "lora_B is zero in %d of %d modules: %s" % (len(dead), len(starts), shown[0])
    alive = {consistency.pattern_of(m) for m, is_zero in starts.items() if not is_zero}
    uneven = [m for m in dead if consistency.pattern_of(m) in alive and ".experts." not in m]
    id = "adapter-untrained" if uneven or len(dead) == len(starts) else "adapter-partly-untrained"
    return [found(id, file, saw, evidence=shown)]


def _manifest_agrees(folder: Folder, manifest: manifests.Manifest, config: Optional[Config]) -> List[Finding]:
    """Who covers the weights must cover the config too, and both must speak of one adapter."""
    file = os.path.join(folder.path, manifests.MANIFEST)
    uncovered = [name for name in (WEIGHTS, CONFIG) if name not in manifest.files]
    if uncovered:
        return [found("checkpoint-manifest-broken", file, "it does not cover %s" % ", ".join(uncovered))]
    if config is None or not manifest.targets or not isinstance(config.targets, tuple):
        return []
    if set(manifest.targets) != set(config.targets):
        saw = "the manifest names other targets than adapter_config.json"
        return [found("adapter-wrong-targets", file, saw)]
    return []
