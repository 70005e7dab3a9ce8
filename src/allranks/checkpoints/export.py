"""Exports a verified adapter: merged into its base, or as an adapter that vLLM takes; proved, then moved into place.

Runs in a Python that has torch. Whatever breaks off leaves no folder at the target: it is filled under a
temporary name, synced, proved, described by `allranks-export.json`, and then renamed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints import base_model, edits, manifest
from allranks.checkpoints.adapter import Adapter
from allranks.checkpoints.base_model import INDEX, SINGLE, BaseModel, Refused
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.export_folder import EXPORT, Growing, room
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.verify import CONFIG, WEIGHTS, verify
from allranks.checkpoints.weights import tensors_of
from allranks.core import BLOCK, UNKNOWN, Finding
from allranks.node import memory

ACCEPTABLE = ("adapter-wrong-base", "adapter-untrained", "adapter-layers-uneven", "adapter-shapes-disagree")
"""A person may know better: the base has another name here, nothing trained on purpose, layers differ."""

LOST_WARNS = 0.5
COMPARE_SHARE = 0.5
"""Of the free memory: the outputs are compared where a float32 model takes no more than this."""

LEFT_OUT = (".bin", ".pt", ".pth", ".safetensors", ".gguf", ".h5", ".msgpack", ".onnx")


def export(
    path: str,
    target: str,
    base: Optional[str] = None,
    form: str = "merged",
    expect: Optional[Mapping[str, Any]] = None,
    accept: Tuple[str, ...] = (),
    most_rank: Optional[int] = None,
    compared: Optional[bool] = None,
) -> Dict[str, Any]:
    """`{"path", "findings", …}`; `path` is null where nothing was exported. Raises OSError.

    `form` is `merged`, `vllm`, or `weights` (of a DeepSpeed checkpoint, without an adapter); `compared` None compares
    the models' outputs if they fit into memory.
    """
    try:
        if form == "weights":
            from allranks.checkpoints import deepspeed_weights

            return deepspeed_weights.export(path, os.path.abspath(target))
        adapter, raw, folder = _adapter(path)
        model = _base(base, raw, form, adapter, folder)
        _verified(folder, model, adapter, dict(expect or {}), accept)
        target = os.path.abspath(target)
        if os.path.lexists(target):
            raise Refused(found("export-exists", target, "it is there"))
        if form == "vllm":
            return _for_vllm(adapter, raw, model, folder, target, most_rank)
        assert model is not None  # _base raises for a merge without one
        return _merged(adapter, raw, model, folder, target, compared)
    except Refused as refused:
        return {"path": None, "findings": [f.as_json() for f in refused.findings]}


# ---- may it be exported ----


def _adapter(path: str) -> Tuple[Adapter, Dict[str, Any], str]:
    """The adapter as far as it can be read; what is damaged in it is the verdict's matter."""
    report = verify(path)
    against = [f for f in report.findings if f.verdict in (BLOCK, UNKNOWN) and f.id not in ACCEPTABLE]
    if against:
        raise Refused(*against)
    with Folder(path if os.path.isdir(path) else os.path.dirname(path)) as folder:
        raw = folder.read_json(CONFIG)
        tensors = tensors_of(os.path.join(folder.path, WEIGHTS))
        return parts.sort_tensors(parts.parse_config(raw), tensors), raw, folder.path


def _base(
    base: Optional[str], raw: Mapping[str, Any], form: str, adapter: Adapter, folder: str
) -> Optional[BaseModel]:
    named = base or raw.get("base_model_name_or_path")
    if isinstance(named, str) and os.path.isdir(named):
        return base_model.read(named)
    if form == "vllm" and base is None and not adapter.config.parameters:
        return None  # the conversion needs no base; its sizes are not compared then
    saw = "the base model %s is not a folder here" % named if named else "the adapter names no base model"
    raise Refused(found("export-base-missing", folder, saw))


def _verified(
    folder: str, model: Optional[BaseModel], adapter: Adapter, expect: Dict[str, Any], accept: Tuple[str, ...]
) -> None:
    """The whole verdict, with the base's sizes. Raises Refused with what speaks against it."""
    expect.setdefault("trained", True)
    if model is not None:
        expect.update(base_config=dict(model.config), base_model=model.path)
        expect.setdefault("shapes", shapes_of(model, adapter))
    report = verify(folder, expect)
    against = [f for f in report.findings if f.verdict in (BLOCK, UNKNOWN) and f.id not in accept]
    if against:
        raise Refused(*against)


def shapes_of(model: BaseModel, adapter: Adapter) -> Dict[str, List[int]]:
    """{module: shape of its weight} of the base, of what PEFT could have adapted in it.

    Left out: layers beyond the model's own (DeepSeek's prediction layers are on disk and not loaded); experts that
    lie apart on disk and are one tensor in the model; under a pattern of targets all that has no adapter.
    """
    layers = model.config.get("num_hidden_layers")
    adapted = {parts.owner(module) for module in adapter.modules}
    apart = any(".experts." in module for module in adapted)
    found_shapes = {}
    for name, place in model.places.items():
        module, _, end = name.rpartition(".")
        if end != "weight" or len(place.tensor.shape) != 2 or (".experts." in module and not apart):
            continue
        number = parts.layer_of(module)
        if number is not None and isinstance(layers, int) and number >= layers:
            continue
        if module in adapted or isinstance(adapter.config.targets, tuple):
            shape = list(place.tensor.shape)
            found_shapes[module] = shape[::-1] if model.is_turned(module) else shape
    return found_shapes


def _about(folder: str, model: Optional[BaseModel], raw: Mapping[str, Any], form: str) -> Dict[str, Any]:
    with Folder(folder) as opened:
        digests = {name: opened.digest(name)[1] for name in (WEIGHTS, CONFIG)}
        known, _ = manifest.read(opened)
    versions = {name: str(getattr(sys.modules[name], "__version__", "")) for name in ("torch", "transformers", "peft")
                if name in sys.modules}  # fmt: skip
    return {
        "form": form, "adapter": {"path": folder, "sha256": digests, "step": known.step if known else None},
        "base_model": model.path if model else raw.get("base_model_name_or_path"), "versions": versions,
    }  # fmt: skip


# ---- merged ----


def _merged(
    adapter: Adapter,
    raw: Mapping[str, Any],
    model: BaseModel,
    folder: str,
    target: str,
    compared: Optional[bool],
) -> Dict[str, Any]:
    from allranks.checkpoints import merging, proving

    weights = os.path.join(folder, WEIGHTS)
    table = edits.plan(adapter, raw, model, weights)
    untied = untie(table, model, raw, weights)
    names, extra = file_names(model, untied)
    room(target, model.bytes + (64 << 20))
    with merging.Merge(model, weights, table, untied) as merge, Growing(target) as growing:
        lost = merging.write(merge, growing.path, names, extra)
        _beside(model, growing.path, untied, names, extra)
        same, changed, wrong = proving.read_back(merge, growing.path, names, extra)
        if wrong:
            raise Refused(found("export-differs", target, wrong[0], evidence=tuple(wrong)))
        findings, outputs = _outputs(model, folder, growing.path, target, table, compared)
        about = _about(folder, model, raw, "merged")
        proof = {
            "tensors_as_in_base": same,
            "tensors_changed": changed,
            "lost": lost.share,
            "outputs": outputs,
        }
        growing.keep({**about, "proof": proof})
    saw = "%d tensors are the base's bit for bit, %d are base + adapter to half a unit in the last place" % (
        same,
        changed,
    )
    if outputs is not None:
        saw += "; logits differ by {difference:.2g} (allowed {tolerance:.2g}), the adapter's effect is {effect:.2g}"
        saw = saw.format(**outputs)
    findings.insert(0, found("export-whole", target, saw))
    if lost.share > LOST_WARNS:
        findings.append(found("export-rounded", target, "%.0f %% of it" % (100 * lost.share)))
    return {"path": target, "findings": [f.as_json() for f in findings], **proof}


def untie(table: Dict[str, Any], model: BaseModel, raw: Mapping[str, Any], file: str) -> Dict[str, str]:
    """{output layer: embedding} where the adapter changes one of the two that the base stores once."""
    embedding = edits.embedding_of(model)
    heads = [name for name in table if name.endswith("lm_head.weight")]
    vocabulary = model.config.get("vocab_size")
    near = [n for n in table if n == embedding or (model.shape(n) or (None,))[0] == vocabulary]
    inner = [v for v in model.config.values() if isinstance(v, dict)]
    nested = any(v.get("tie_word_embeddings", model.is_tied and "vocab_size" in v) for v in inner)
    touched = sorted({*near, *heads})
    if not touched or not (model.is_tied or nested):
        return {}
    if nested or embedding is None or raw.get("ensure_weight_tying") or "lm_head.weight" in model.places:
        saw = "%s, which the base ties to another layer in a way that is not known here" % touched[0]
        raise Refused(found("export-unsupported", file, saw))
    return {(heads or ["lm_head.weight"])[0]: embedding}


def file_names(model: BaseModel, untied: Mapping[str, str]) -> Tuple[Dict[str, str], Optional[str]]:
    """({the base's file: its name in the export}, the file for what is no longer tied)."""
    if not untied:
        return {file: file for file in model.files}, None
    if model.files == (SINGLE,):
        return {SINGLE: "model-00001-of-00002.safetensors"}, "model-00002-of-00002.safetensors"
    return {file: file for file in model.files}, "model-untied.safetensors"


def _beside(
    model: BaseModel, folder: str, untied: Mapping[str, str], names: Mapping[str, str], extra: Optional[str]
) -> None:
    """Configs, tokenizer and code of the base; the index and config.json say what was untied."""
    for name in sorted(os.listdir(model.path)):
        source = os.path.join(model.path, name)
        hidden = name.startswith(".") or name.endswith(LEFT_OUT) or name == EXPORT
        if not hidden and os.path.isfile(source):
            shutil.copyfile(source, os.path.join(folder, name))
    if not untied or extra is None:
        return
    _write(os.path.join(folder, "config.json"), {**model.config, "tie_word_embeddings": False})
    table = {name: names[place.file] for name, place in model.places.items()}
    table.update({name: extra for name in untied})
    size = model.bytes + sum(_bytes(model, source) for source in untied.values())
    _write(os.path.join(folder, INDEX), {"metadata": {"total_size": size}, "weight_map": table})


def _bytes(model: BaseModel, name: str) -> int:
    tensor = model.places[name].tensor
    return tensor.end - tensor.begin


def _write(path: str, data: Mapping[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=2)


def _outputs(
    model: BaseModel, folder: str, merged: str, target: str, table: Mapping[str, Any], wanted: Optional[bool]
) -> Tuple[List[Finding], Optional[Dict[str, Any]]]:
    """Compares logits, or says why not. Raises Refused where they differ by more than rounding explains."""
    from allranks.checkpoints import proving

    if wanted is False:
        return [found("export-not-compared", target, "--no-compare")], None
    needed = sum(place.tensor.count for place in model.places.values()) * 4
    free = memory_available()
    if wanted is None and needed > free * COMPARE_SHARE:
        saw = "a model in float32 takes {:,.1f} GiB, {:,.1f} are free".format(needed / 2**30, free / 2**30)
        return [found("export-not-compared", target, saw)], None
    types = {model.places[edits.or_tied(name, model)].tensor.dtype for name in table}
    coarsest = max(types, key=lambda name: proving.TOLERANCE[name])
    try:
        outputs = proving.compare(model.path, folder, merged, coarsest)
    except (ImportError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        if wanted:
            raise Refused(found("export-differs", target, "%s: %s" % (type(error).__name__, error))) from None
        saw = "%s: %s" % (type(error).__name__, str(error)[:200])
        return [found("export-not-compared", target, saw)], None
    if not outputs["difference"] <= outputs["tolerance"]:
        saw = "the logits differ by {difference:.3g} of their size".format(**outputs)
        raise Refused(found("export-differs", target, saw, "at most %.3g" % outputs["tolerance"]))
    return [], outputs


def memory_available() -> int:
    return memory.machine().get("memory_available_bytes", 0)


# ---- for vLLM ----


def _for_vllm(
    adapter: Adapter, raw: Mapping[str, Any], model: Optional[BaseModel], folder: str, target: str,
    most: Optional[int],
) -> Dict[str, Any]:  # fmt: skip
    from allranks.checkpoints import serving

    weights = os.path.join(folder, WEIGHTS)
    against = serving.refusals(adapter, raw, most, weights)
    if against:
        raise Refused(*against)
    made = serving.pairs(adapter, raw, model, weights)
    room(target, 2 * os.path.getsize(weights) + (1 << 20))
    with Growing(target) as growing:
        config = serving.write(adapter, raw, made, weights, growing.path)
        # Its name says that it is unfinished, which it is until it is moved.
        seen = verify(growing.path, {"trained": True}).findings
        against = [f for f in seen if f.verdict in (BLOCK, UNKNOWN) and f.id != "checkpoint-unfinished"]
        if against:
            raise Refused(*against)
        written = os.path.join(growing.path, WEIGHTS)
        tensors = tensors_of(written)
        rank, alpha = config["r"], config["lora_alpha"]
        scale = alpha / rank**0.5 if config["use_rslora"] else alpha / rank
        worst = serving.furthest(made, weights, tensors, written, rank, scale)
        if not worst <= 2.0**-7:  # folded scales are rounded once to the adapter's type
            raise Refused(found("export-differs", target, "a module adds %.3g of its size else" % worst))
        proof = {"modules": len(made), "furthest": worst, "max_lora_rank": serving.needed_rank(adapter)}
        growing.keep({**_about(folder, model, raw, "vllm"), "proof": proof})
    named = model.path if model else str(raw.get("base_model_name_or_path"))
    saw = "%d modules, off by %.2g at most: vllm serve %s --enable-lora --max-lora-rank %d --lora-modules name=%s" % (
        len(made), worst, named, proof["max_lora_rank"], target)  # fmt: skip
    findings = [found("export-whole", target, saw), *serving.notes(adapter, raw, weights)]
    return {"path": target, "findings": [f.as_json() for f in findings], **proof}
