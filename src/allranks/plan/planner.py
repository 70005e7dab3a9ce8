"""`make_plan`: a run and its model's configuration in, a plan out. Pure: reads and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from allranks.core import NOTE, UNKNOWN, WARN, Facts, Finding
from allranks.core.text import printable
from allranks.plan import families, library_trial
from allranks.plan.budget import budget_of, case_of
from allranks.plan.deepspeed import deepspeed_config, is_profile, reasons_for
from allranks.plan.deepspeed_keys import key_findings
from allranks.plan.environment import environment
from allranks.plan.hardware import hardware_of
from allranks.plan.lora import Trained, is_pattern, linear_names, trains_experts
from allranks.plan.measured_bandwidth import network_of
from allranks.plan.meta_device import model_of
from allranks.plan.model import Model, UnknownModel
from allranks.plan.ranks import rank_findings, rank_map
from allranks.plan.result import Plan
from allranks.plan.setting import Setting, setting_of, with_stored_base
from allranks.plan.target_names import handed_over
from allranks.plan.trainable import trained_by
from allranks.plan.unknown_model import OTHER_TRANSFORMERS, agreed, verdict_unread
from allranks.plan.versions import Versions, versions_of
from allranks.plan.vision_parts import parts_of
from allranks.spec import Run, base_model


def make_plan(
    run: Run,
    config: Mapping[str, Any] | None = None,
    facts: Mapping[str, Facts] | None = None,
    *,
    deepspeed: Mapping[str, Any] | None = None,
    dataset_samples: int | None = None,
    price: float | None = None,
    probe: Mapping[str, Any] | None = None,
    described: Mapping[str, Any] | None = None,
    without: tuple[str, str] | None = None,
) -> Plan:
    """The plan of a run.

    `config` is the model's `config.json`; without it (or for a family that is not described here) the numbers are None
    and a finding reports that. `facts` are the nodes' facts by name. `deepspeed` is the content of the JSON that
    `run.deepspeed` names, if it names a path. `dataset_samples` is the dataset's size, if it is known. `price` is the
    price of a GPU hour, in any currency. `probe` is the output of `allranks probe --json`. `described` is the output
    of `meta_device.py` for a family that is not described here, or the Pythons that were `tried` without success.
    `without` is the reason why there is no `config`, and the fix. The function never raises for errors in the user's
    input: they are in `findings`.
    """
    given = Given(config, facts, deepspeed, dataset_samples, price, probe, described, without)
    versions = versions_of(run.without_spares(), facts)
    plan = _plan(run, given, versions)
    if (
        versions.transformers is not None
        or plan.trained is None
        or plan.model is None
        or not plan.model.experts
    ):
        return plan
    other = _plan(run, given, replace(versions, transformers=OTHER_TRANSFORMERS))
    return replace(plan, findings=agreed(run, bool(facts), plan.findings, other.findings))


class Given(NamedTuple):
    """The arguments of `make_plan` except the run."""

    config: Mapping[str, Any] | None
    facts: Mapping[str, Facts] | None
    deepspeed: Mapping[str, Any] | None
    samples: int | None
    price: float | None
    probe: Mapping[str, Any] | None
    described: Mapping[str, Any] | None
    without: tuple[str, str] | None


def _plan(run: Run, given: Given, versions: Versions) -> Plan:
    """The plan with these versions."""
    facts, probe = given.facts, given.probe
    everywhere, run = run, run.without_spares()
    setting = with_stored_base(setting_of(run), given.config)
    findings: list[Finding] = []
    model = _model(run, setting, given, versions, findings)
    trained = trained_by(model, setting, run, findings) if model and setting.known else None
    if (
        setting.experts_at_once
        and model
        and trained
        and model.fused_experts
        and trains_experts(model, trained)
    ):
        setting = replace(setting, experts_at_once=0)
    uses_gpu = setting.uses_gpu
    ranks = rank_map(run, uses_gpu)
    findings += rank_findings(run, ranks, uses_gpu)
    network = between_nodes(run, uses_gpu, facts, probe)
    content, reasons = _deepspeed(run, setting, model, trained, versions, given.deepspeed, network)
    if content is not None and not is_profile(run.deepspeed):
        taken = library_trial.accepted(everywhere, content, (facts or {}).values())
        findings += key_findings(run, setting, content, taken)
    trainer = _trainer(setting, model, trained)
    budget = None
    if model is not None and trained is not None and trained.parameters:
        case = case_of(run, setting, model, trained, content, versions, facts, given.samples, given.price)
        probed = network_of(probe) if probe else None
        if probed is not None:
            others = tuple(one for one in case.hardware.networks if one.assumed)
            case = replace(case, hardware=replace(case.hardware, networks=(probed, *others)))
        budget = budget_of(run, case)
        setting = replace(setting, experts_at_once=case.at_once)
        findings += budget.findings
        trainer |= budget.trainer
    return Plan(
        run=run,
        setting=setting,
        ranks=ranks,
        environment=environment(everywhere, uses_gpu, facts),
        deepspeed=content,
        deepspeed_reasons=reasons,
        model=model,
        trainable_parameters=trained.parameters if trained else None,
        trained=trained,
        trainer=trainer,
        memory=budget.memory if budget else None,
        traffic=budget.traffic if budget else None,
        advice=budget.advice if budget else {},
        findings=tuple(findings),
    )


def between_nodes(
    run: Run, uses_gpu: bool, facts: Mapping[str, Facts] | None, probe: Mapping[str, Any] | None
) -> float | None:
    """The bandwidth out of one node, in bytes per second; None on CPU, or if the run has only one node."""
    if not uses_gpu or len(run.cluster.nodes) < 2:
        return None
    probed = network_of(probe) if probe else None
    return (probed or hardware_of(run, uses_gpu, facts).network).bytes_per_second


def _model(
    run: Run, setting: Setting, given: Given, versions: Versions, findings: list[Finding]
) -> Model | None:
    config, described = given.config, given.described
    if not setting.known:
        return _model_of_script(run, given, versions, findings)
    fix = _CONFIG_FIX
    if config is None:
        reason, fix = given.without or (_NO_CONFIG, _CONFIG_FIX)
    else:
        try:
            if described is not None and "modules" in described:
                return model_of(described)
            return families.describe(config, fused_experts=versions.fused_experts)
        except UnknownModel as error:
            reason = f"{error}{_tried(described)}"
            if "tried" in (described or {}):
                fix = _PYTHON_FIX
    key = "train.llamafactory.model_name_or_path"
    in_image = config is None and str(run.train.arguments.get("model_name_or_path")).startswith("/")
    verdict = verdict_unread(run, bool(given.facts)) if in_image else UNKNOWN
    fix = _IMAGE_FIX if verdict == WARN else fix
    findings.append(_unread(run, key, verdict, reason, fix))
    return None


def _model_of_script(run: Run, given: Given, versions: Versions, findings: list[Finding]) -> Model | None:
    """The model that a script's `--model_name_or_path` names. Memory and traffic are not
    planned: its own options say which part it trains, and with which length."""
    named, model = base_model.name_of(run), None
    if named is None:
        saw = "the model of your own script is not known here."
    elif given.config is None:
        saw, _ = given.without or (f"no config.json of {printable(named, 80)} was found.", "")
    else:
        try:
            model = families.describe(given.config, fused_experts=versions.fused_experts)
            weights = model.total_parameters * 2 / 2**30
            saw = (
                f"what your own script trains of {printable(named, 80)} is not known. Its weights alone are "
            )
            saw += f"{weights:,.1f} GiB in bf16, whole on each GPU unless ZeRO-3 or FSDP shards them."
        except UnknownModel as error:
            saw = f"{printable(named, 80)} of your own script: {error}"
    why = (
        "memory and traffic cannot be planned."
        if model
        else "parameters, memory and traffic cannot be planned."
    )
    findings.append(replace(_unread(run, "train.command", NOTE, saw), why=why))
    return model


def _tried(described: Mapping[str, Any] | None) -> str:
    """A text that names the Pythons that were tried for a family that is not described here, and what each lacks."""
    tried = (described or {}).get("tried")
    if not isinstance(tried, Mapping):
        return ""
    told = "; ".join(f"{python}: {why}" for python, why in tried.items())
    return f", and no Python here could describe it ({told or 'there is none'})."


_NO_CONFIG = "no config.json was given: neither beside the run file nor in the model's folder."

_CONFIG_FIX = (
    "put the model's config.json beside the run file, or go on with --accept model-config-unreadable"
)

_IMAGE_FIX = (
    "nothing, if the image holds it: it is read there before the launch; else put the model's config.json beside "
    "the run file"
)

_PYTHON_FIX = (
    "environment: {python: PATH} of a Python with torch and transformers that know the model, "
    "or go on with --accept model-config-unreadable"
)


def _unread(run: Run, key: str, verdict: str, saw: str, fix: str = "") -> Finding:
    return Finding(
        id="model-config-unreadable",
        verdict=verdict,
        where=run.where(key),
        saw=saw,
        expected="a config.json of a known family",
        why="parameters, memory and traffic cannot be planned.",
        fix=fix,
    )


def _deepspeed(
    run: Run,
    setting: Setting,
    model: Model | None,
    trained: Trained | None,
    versions: Versions,
    content: Mapping[str, Any] | None,
    network: float | None,
) -> tuple[Mapping[str, Any] | None, Mapping[str, str]]:
    if not setting.known:
        return None, {}
    if not is_profile(run.deepspeed):
        return content, reasons_for(content, {}) if content is not None else {}
    config, reasons = deepspeed_config(run.deepspeed, setting, model, trained, versions, network=network)
    return config, reasons_for(config, reasons)


def _trainer(setting: Setting, model: Model | None, trained: Trained | None) -> dict[str, Any]:
    """LLaMA-Factory hands `lora_target` to PEFT as a list, so an expression goes over as the names it matches."""
    lora = setting.lora
    if model is None or trained is None or lora is None or not isinstance(lora.targets, str):
        return {}
    if not is_pattern(lora.targets) or not trained.matched:
        return {}
    if parts_of(model) is not None:
        again, _ = handed_over(model, replace(lora, targets=trained.leaves), setting.freeze)
        names = trained.leaves if set(again.targets) == set(trained.matched) else trained.matched
        return {"lora_target": ",".join(names)}
    suffixes = tuple(f".{leaf}" for leaf in trained.leaves)
    same = {m.name for m in model.modules if m.name in trained.leaves or m.name.endswith(suffixes)}
    names = (
        trained.leaves
        if same == set(trained.matched) and set(trained.leaves) <= set(linear_names(model))
        else ()
    )
    return {"lora_target": ",".join(names or trained.matched)}
