"""The page of a checkpoint: one HTML file that needs no network. All text from the folder is data, and escaped."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.core.text import fold, plural
from allranks.core.untrusted import listing, mapping, number
from allranks.output import report, report_parts
from allranks.output.report_charts import Line, LineChart, line_chart
from allranks.output.report_findings import folded
from allranks.output.report_parts import facts, section
from allranks.output.report_plots import LEAD
from allranks.output.report_text import MISSING, count, escape, loss_text, moment, one_line, short, size

STATES = {True: ("succeeded", "whole"), False: ("failed", "damaged"), None: ("unknown", "not judged")}
TASKS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "FEATURE_EXTRACTION": "AutoModel",
}
"""transformers' classes for PEFT's task types (`peft/utils/peft_types.py`); any other type is a causal model."""

SAME = {"train_batch_size": "micro_batch", "num_train_epochs": "epochs"}
"""Names in trainer_state.json, and the manifest's names for the same values."""


def render(data: Mapping[str, Any]) -> str:
    """The page for what `adapter_facts.collect` returned."""
    parts = [
        ("loss", "Loss", loss(data)),
        ("use", "Use", use(data)),
        ("what", "Adapter" if data["kind"] == "adapter" else "Checkpoint", what(data)),
        ("findings", "Findings", findings(data)),
        ("training", "Training", training(data)),
        ("settings", "Settings", settings(data)),
        ("results", "Results", results(data)),
        ("others", "Others", others(data)),
        ("files", "Files", files(data)),
        ("more", "More", more(data)),
    ]
    there = [(ident, title) for ident, title, body in parts if body]
    body = "".join(body for _, _, body in parts)
    made = (
        f"Made by allranks {data['version']} on {moment(data['made_at'])} from the files in {data['path']}."
    )
    page = f"{header(data)}{report.links(there)}{figures(data)}{body}<footer>{escape(made)}</footer>"
    return report.document(f"{escape(name_of(data), 120)}: {STATES[data['whole']][1]}", page)


def name_of(data: Mapping[str, Any]) -> str:
    return Path(data["path"]).name or data["path"]


def sentence(data: Mapping[str, Any]) -> str:
    """The headline: kind, base model, step, and whether it is whole."""
    whole = {True: "whole", False: "damaged", None: "not judged"}[data["whole"]]
    rank = number(data["config"].get("r"))
    what = data["title"] or "no checkpoint that allranks knows"
    base = f" for {base_name(data)}" if data["base_model"] else ""
    step = f", after step {count(data['step'])}" if data["step"] is not None else ""
    rank_text = f" of rank {count(rank)}" if rank and data["kind"] == "adapter" else ""
    limit = ", as far as its files show" if data["whole"] and data["kind"] != "adapter" else ""
    return f"{one_line(what, 200)}{rank_text}{base}{step}: {whole}{limit}."


def base_name(data: Mapping[str, Any]) -> str:
    """The last part of a path; a name from the Hub stays as it is."""
    base = str(data["base_model"])
    return one_line(Path(base).name if base.startswith(("/", ".", "~")) else base, 200)


def header(data: Mapping[str, Any]) -> str:
    style, word = STATES[data["whole"]]
    saved = f"saved {moment(data['saved_at'])}" if data["saved_at"] else ""
    spans = [f"<b>{escape(name_of(data), 200)}</b>"]
    spans += [f"<code>{escape(data['run'], 200)}</code>"] if data["run"] else []
    spans += [escape(saved)] if saved else []
    run = "".join(f"<span>{one}</span>" for one in spans)
    return (
        f'<header class="{style}"><p class="run"><span class="state">{word}</span>{run}</p>'
        f"<h1>{escape(sentence(data), 900)}</h1></header>"
    )


def figures(data: Mapping[str, Any]) -> str:
    trainer, points = data["trainer"], data["curves"]["loss"]
    total = trainer.get("max_steps") or data["settings"].get("max_steps")
    of = f"of {count(total)}" if number(total) and total > 0 else ""
    scored = data["curves"]["eval_loss"]
    cells = [
        ("steps", count(data["step"]), of),
        ("epochs", short(trainer.get("epoch")), ""),
        (
            "loss",
            loss_text(points[-1][2]) if points else MISSING,
            f"from {loss_text(points[0][2])}" if points else "",
        ),
        ("evaluation loss", loss_text(scored[-1][2]) if scored else MISSING, ""),
        ("parameters", count(data["parameters"] or None), plural(data["tensors"], "tensor")),
        ("size", size(sum(one["bytes"] for one in data["files"])), plural(len(data["files"]), "file")),
    ]
    made = [
        f"<div><dt>{name}</dt><dd>{escape(value)}<small>{escape(small)}</small></dd></div>"
        for name, value, small in cells
        if value != MISSING
    ]
    return f'<dl class="figures">{"".join(made)}</dl>'


# ---- the training ----


def loss(data: Mapping[str, Any]) -> str:
    curves = data["curves"]
    if not (curves["loss"] or curves["loss_bad"] or curves["eval_loss"]):
        return ""
    lines = [Line("loss", curves["loss"])] if curves["loss"] else []
    lines += [Line("evaluation loss", curves["eval_loss"], "s1")] if curves["eval_loss"] else []
    points = curves["loss"]
    note = (
        f"{loss_text(points[0][2])} → {loss_text(points[-1][2])}, as the trainer logged it" if points else ""
    )
    drawn = line_chart(LineChart("loss", "Loss", short, lines, note=note, bad=curves["loss_bad"]), wide=True)
    return f'<section id="{LEAD}" class="lead"><div class="charts">{drawn}</div></section>'


def training(data: Mapping[str, Any]) -> str:
    drawn = ""
    for name, title in (("grad_norm", "Gradient norm"), ("learning_rate", "Learning rate")):
        points, bad = data["curves"][name], data["curves"][f"{name}_bad"]
        if points or bad:
            lines = [Line(title.lower(), points)] if points else []
            drawn += line_chart(LineChart(name, title, short, lines, from_zero=True, bad=bad))
    return section("training", "Training", f'<div class="charts">{drawn}</div>' if drawn else "")


def settings(data: Mapping[str, Any]) -> str:
    """The settings in the manifest and in trainer_state.json. If both have a setting, the manifest counts."""
    trainer = {SAME.get(name, name): value for name, value in data["trainer"].items() if name != "epoch"}
    told = {**trainer, **data["settings"]}
    if data["world_size"]:
        told["ranks"] = data["world_size"]
    rows = [(name.replace("_", " "), escape(shown(told[name]), 300)) for name in sorted(told)]
    versions = ", ".join(f"{name} {one}" for name, one in sorted(data["versions"].items()))
    return section("settings", "Settings", facts([*rows, ("software", escape(versions, 1000))]))


def shown(value: Any) -> str:
    """A value as text: whole numbers with thousands separators, others with four digits, words unchanged."""
    if number(value) is None:
        return str(value)
    return count(value) if number(value) == int(value) else short(value)


def results(data: Mapping[str, Any]) -> str:
    rows = [(name, escape(shown(value), 300)) for name, value in sorted(data["results"].items())]
    return section("results", "Results", facts(rows[:60]), "as the training script wrote them")


# ---- what the adapter is ----


def what(data: Mapping[str, Any]) -> str:
    config = data["config"]
    targets = config.get("target_modules")
    named = fold(sorted(str(one) for one in targets)) if isinstance(targets, list) else str(targets or "")
    trained = fold(sorted(str(one) for one in listing(config.get("modules_to_save"))))
    words = {"use_dora": "DoRA", "use_rslora": "rank-stabilized"}
    methods = ", ".join(word for key, word in words.items() if config.get(key) is True)
    patterns = [
        f"{len(mapping(config.get(key)))} in {key}"
        for key in ("rank_pattern", "alpha_pattern")
        if config.get(key)
    ]
    scale = (
        f"rank {shown(config['r'])}, alpha {shown(config.get('lora_alpha'))}"
        if number(config.get("r"))
        else ""
    )
    lora = ", ".join(one for one in (scale, methods, *patterns) if one)
    rows = [
        ("path", f"<code>{escape(data['path'], 1000)}</code>"),
        ("verified", verified(data)),
        ("holds", escape(data["text"], 600)),
        ("base model", f"<code>{escape(data['base_model'], 1000)}</code>" if data["base_model"] else ""),
        ("LoRA", escape(lora, 600)),
        ("dropout", escape(shown(config["lora_dropout"])) if number(config.get("lora_dropout")) else ""),
        ("targets", escape(named, 2000)),
        ("trained in full", escape(trained, 2000)),
        ("run", f"<code>{escape(data['run'], 300)}</code>" if data["run"] else ""),
        ("saved", escape(saved(data))),
    ]
    title = "Adapter" if data["kind"] == "adapter" else "Checkpoint"
    return section("what", title, facts(rows))


def saved(data: Mapping[str, Any]) -> str:
    parts = [moment(data["saved_at"]) if data["saved_at"] else ""]
    parts += [f"by allranks {data['saved_by']}" if data["saved_by"] else ""]
    parts += [f"from {plural(data['world_size'], 'rank')}" if data["world_size"] else ""]
    return ", ".join(one for one in parts if one)


def verified(data: Mapping[str, Any]) -> str:
    if data["whole"] is None:
        return '<span class="warn">could not be judged: see the findings</span>'
    if data["whole"] is False:
        return '<span class="bad-text">not whole: see the findings</span>'
    covered = [one for one in data["files"] if one["sha256"]]
    by = (
        "each file that its manifest names has its SHA-256"
        if covered
        else "no manifest: by its tensors alone"
    )
    exact = "; the ranks' values were compared with what was gathered" if data["exact"] == "proved" else ""
    if data["kind"] != "adapter":
        return '<span class="good">whole</span>, as far as its files show'
    return f'<span class="good">whole</span>; {by}{exact}; not loaded onto its base model'


def findings(data: Mapping[str, Any]) -> str:
    groups = [group for group in folded(data["findings"]) if group.verdict != "ok"]
    return section("findings", "Findings", "".join(report_parts.finding(group) for group in groups))


# ---- how to use it ----


def use(data: Mapping[str, Any]) -> str:
    """Commands to copy for this kind of adapter; if a command does not work, the reason."""
    if data["whole"] is False:
        return ""
    made = "".join(
        f'<p>{escape(said, 600)}</p><pre class="copyable">{escape(text, 4000)}</pre>'
        if text
        else f"<p>{escape(said, 600)}</p>"
        for said, text in commands(data)
    )
    return section("use", "Use", made)


def commands(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(purpose, command); if there is no command, the reason instead."""
    path = shlex.quote(data["path"])
    if data["kind"] == "huggingface":
        return [("Serve it with vLLM:", f"vllm serve {path}"), check_of(path)]
    if data["kind"] == "deepspeed":
        return [
            ("Join its weights:", f"allranks checkpoints export {path} -o weights --for weights"),
            check_of(path),
        ]
    if data["kind"] != "adapter":
        return [check_of(path)]
    found = [("Load it in Python:", loading(data)), merging(data, path), *serving(data, path)]
    if data["resumable"]:
        found.append(("Continue its training:", f"allranks run run.yaml --resume {path}"))
    elif data["lacks"]:
        found.append((f"Its training cannot continue from it: {data['lacks']}.", ""))
    return [*found, check_of(path)]


def check_of(path: str) -> tuple[str, str]:
    return "Check it again, for example after a copy:", f"allranks checkpoints verify {path}"


def base_of(data: Mapping[str, Any]) -> str:
    """The base model as it was named; `BASE` if there is no name, or if a command would read the name as an option."""
    base = str(data["base_model"] or "")
    return "BASE" if not base or base.startswith("-") else base


def elsewhere(data: Mapping[str, Any]) -> str:
    """A note that the base model's path belongs to the machine that trained."""
    base = base_of(data)
    if base == "BASE":
        return " Put the base model's folder in the place of BASE."
    missing = base.startswith("/") and not Path(base).is_dir()
    return f" {base} is not on this machine: name your own copy of the base model." if missing else ""


def loading(data: Mapping[str, Any]) -> str:
    model = TASKS.get(str(data["config"].get("task_type")), "AutoModelForCausalLM")
    return (
        f"from peft import PeftModel\nfrom transformers import {model}\n\n"
        f'base = {model}.from_pretrained({json.dumps(base_of(data))}, torch_dtype="auto", device_map="auto")\n'
        f"model = PeftModel.from_pretrained(base, {json.dumps(data['path'])})"
    )


def merging(data: Mapping[str, Any], path: str) -> tuple[str, str]:
    command = f"allranks checkpoints export {path} -o merged --base {shlex.quote(base_of(data))}"
    return f"Merge it into its base model, with proof.{elsewhere(data)}", command


def serving(data: Mapping[str, Any], path: str) -> list[tuple[str, str]]:
    if "refused" in data["vllm"]:
        return [
            (f"vLLM does not take it as an adapter ({data['vllm']['refused']}): serve the merged model.", "")
        ]
    if "rank" not in data["vllm"]:
        return []
    serve = (
        f"vllm serve {shlex.quote(base_of(data))} --enable-lora --max-lora-rank {data['vllm']['rank']} "
        "--lora-modules name=served"
    )
    return [("Serve it with vLLM:", f"allranks checkpoints export {path} -o served --for vllm\n{serve}")]


# ---- the rest ----


def files(data: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(one["name"], 300)}</th><td>{size(one["bytes"])}</td>'
        f"<td><code>{escape(one['sha256'] or '')}</code></td></tr>"
        for one in data["files"]
    )
    if not rows:
        return ""
    head = '<tr><th scope="col">file</th><th scope="col">size</th><th scope="col">SHA-256 in the manifest</th></tr>'
    return section(
        "files",
        "Files",
        f'<div class="scroll"><table class="left"><thead>{head}</thead><tbody>{rows}</tbody></table></div>',
    )


def others(data: Mapping[str, Any]) -> str:
    rows = [
        (
            f"step {count(one['step'])}",
            f"<code>{escape(one['path'], 1000)}</code>" + ("; resumable" if one["resumable"] else ""),
        )
        for one in data["others"]
    ]
    return section("others", "Other checkpoints beside it", facts(rows), "not read")


def more(data: Mapping[str, Any]) -> str:
    shown = (
        [("adapter_config.json", json.dumps(data["config"], indent=2, sort_keys=True))]
        if data["config"]
        else []
    )
    shown += [("README.md", data["readme"])] if data["readme"] else []
    body = "".join(
        f'<details class="keep"><summary>{name}</summary><pre class="copyable">{escape(text, 70_000)}</pre></details>'
        for name, text in shown
    )
    if data["unreadable"]:
        lines = "\n".join(escape(line) for line in data["unreadable"])
        body += f'<p class="note">This report could not read:</p><pre>{lines}</pre>'
    return section("more", "More", body)
