"""The training libraries refuse this run's configuration.

## How it is found
LLaMA-Factory, transformers and DeepSpeed of the node read the run's arguments and its DeepSpeed JSON, as its first
rank would. This covers LLaMA-Factory's parser, the values that transformers fills into the JSON, DeepSpeed's
configuration for this number of ranks, the chat template, the quantizer, the optimizer, the schedule and the loggers.
No model is loaded, no GPU and no network is used. For your own script it is the DeepSpeed
JSON that its command names after `--deepspeed` or `--deepspeed_config`.

## Why it matters
Every rank would end with the same error, after every node has imported torch and the libraries. Examples are
unknown keys and arguments, values out of range, and settings that exclude each other (`pure_bf16`,
`predict_with_generate` or `pissa_init` under ZeRO-3). Another is a missing package that an argument needs
(matplotlib for `plot_loss`, bitsandbytes for an 8-bit optimizer).

## What to do
Follow the libraries' messages, which the finding quotes; it names the argument, if one is meant. `allranks check`
asks again.

## Source
The node's own libraries (`node/configuration_trial.py`). They end at their first error: there may be another one behind
it.

Topic: settings
"""

from __future__ import annotations

import re

from allranks.checks.context import Context, Findings, View
from allranks.checks.fact_request import deepspeed_json
from allranks.checks.lint import WRONG
from allranks.checks.lint.arguments import names, near
from allranks.checks.lint.deepspeed import nearest
from allranks.checks.lint.run_settings import accepted, argument_lines
from allranks.core import Finding, Where
from allranks.plan.deepspeed_keys import ZERO_KEYS
from allranks.plan.library_trial import Answer, answer_of

PACKAGE = re.compile(
    r"The '([A-Za-z0-9_.\[\]<>=!~, -]+)' distribution was not found|install `?([A-Za-z0-9_.-]+)`"
)
BROUGHT_BY = {
    "matplotlib": ("plot_loss",),
    "bitsandbytes": ("optim", "quantization_bit"),
    "jieba": ("predict_with_generate",),
    "nltk": ("predict_with_generate",),
    "rouge_chinese": ("predict_with_generate",),
    "liger-kernel": ("enable_liger_kernel",),
    "hqq": ("quantization_method",),
    "eetq": ("quantization_method",),
    "autoawq": ("model_name_or_path",),
    "gptqmodel": ("model_name_or_path",),
    "aqlm": ("model_name_or_path",),
}
"""The arguments for which LLaMA-Factory 0.9.5 asks for a package (`_check_extra_dependencies`, `quantization.py`)
under another name than the package's own. It only says where: that the package is missing says the library."""


def applies(context: Context) -> bool:
    return context.on_host and (context.llamafactory or deepspeed_json(context.run) is not None)


def check(context: Context) -> Findings:
    for view in context.machines:
        answer = answer_of(context.run, context.deepspeed, view.facts)
        if answer is not None and answer.refused:
            yield refusal(context, view, answer)


def refusal(context: Context, view: View, answer: Answer) -> Finding:
    argument = meant(context, answer.said)
    of_json = argument is None and answer.step.startswith("deepspeed")
    key = f"train.llamafactory.{argument}" if argument else "deepspeed" if of_json else "train"
    who = {"llamafactory": "LLaMA-Factory", "deepspeed": "DeepSpeed"}.get(answer.library, answer.library)
    what = "the run's DeepSpeed JSON" if of_json else "the run's arguments"
    script = None if context.llamafactory else deepspeed_json(context.run)
    place = {"at": view, "key": key} if script is None else {"at": Where(node=view.name, file=script[0])}
    return context.block(
        **place,
        saw=f"{who or 'the trainer'} on {view.name} refuses {what}: {answer.words or answer.error}",
        expected="a configuration that the installed libraries take",
        why="every rank would end with these words right after its start.",
        fix=remedy(context, view, answer, argument),
    )


def package_in(said: str) -> str | None:
    """The package that the libraries miss, with its version if they name one."""
    match = PACKAGE.search(said)
    return next((part for part in match.groups() if part), None) if match else None


def meant(context: Context, said: str) -> str | None:
    """The argument that the libraries name, or that brought in the package they miss."""
    package = package_in(said)
    bare = re.split(r"[<>=!~\[]", package)[0] if package else ""
    for name in BROUGHT_BY.get(bare, (f"use_{bare}", f"use_{bare.partition('_')[0]}") if bare else ()):
        if context.arguments.get(name) not in (None, False):
            return name
    words = set(re.findall(r"[A-Za-z0-9_]+", said))
    named = [name for name in context.arguments if str(name) in words]
    return max(named, key=len) if named else None


def remedy(context: Context, view: View, answer: Answer, argument: str | None) -> str:
    package = package_in(answer.said)
    if package:
        python = view.text("software.python.executable") or "python"
        without = f", or take {argument} out" if argument and argument != "model_name_or_path" else ""
        return f"{python} -m pip install '{package}' on {view.name}{without}"
    for line, _ in argument_lines(context):
        if line.name == argument and line.status == WRONG:
            return line.do or "take it out"
    if "not used by the HfArgumentParser" in answer.said and argument:
        return near(argument, accepted(context, "arguments") or names())
    unknown = re.search(r"^(\S+)\n\s+Extra inputs are not permitted", answer.said, re.MULTILINE)
    if unknown:
        key = unknown.group(1).rpartition(".")[2]
        return f"{key}: {nearest(key, ZERO_KEYS)}" if "ZeroConfig" in answer.said else f"take {key} out"
    differing = re.findall(r"^- ds (\S+?)=", answer.said, re.MULTILINE)
    if differing:
        return ", ".join(f'"{key.rpartition(".")[2]}": "auto"' for key in differing)
    if "train_micro_batch_size_per_gpu needs to be provided" in answer.said:
        return '"train_micro_batch_size_per_gpu": "auto" in the JSON'
    return f"change {argument or 'what it names'}; check asks again"
