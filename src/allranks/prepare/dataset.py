"""The dataset tokenized once before the launch, so that the ranks read it instead of waiting for one of them.

LLaMA-Factory keeps a tokenized dataset where `tokenized_path` says; without that key nothing is done, since what it
writes may be larger than the dataset, and only the user knows where there is room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from allranks.plan.trainer import PATHS
from allranks.prepare.failures import blocked, last_words
from allranks.prepare.progress import WATCH
from allranks.spec import Run
from allranks.transport import NodeProgram

TOKENIZE_SECONDS = 4 * 3600.0
"""Millions of long samples on few workers; the process-group timeout of a run would be over long before."""

ELSEWHERE = ("deepspeed", "output_dir", "overwrite_output_dir", "resume_from_checkpoint", "report_to")
"""Arguments that tokenizing does not need and that would start or demand other things."""

THERE = """
import os, sys
path = sys.argv[1]
sys.exit(0 if os.path.isdir(path) and os.listdir(path) else 3)
"""

TOKENIZE = (
    "import contextlib, json, os, sys, tempfile\n"
    + WATCH
    + """
wanted = json.load(sys.stdin)
watch(wanted["seconds"])
os.environ.update(wanted["env"])
with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer
    arguments = {**wanted["arguments"], "output_dir": folder, "report_to": "none"}
    model, data, training, finetuning, _ = get_train_args(arguments)
    loaded = load_tokenizer(model)
    template = get_template_and_fix_tokenizer(loaded["tokenizer"], data)
    get_dataset(template, model, data, training, stage=finetuning.stage, **loaded)
print(json.dumps(sorted(os.listdir(data.tokenized_path))))
"""
)
"""LLaMA-Factory's own steps before the trainer (0.9.3 to 0.9.5, train/sft/workflow.py). They save the tokenized
dataset."""


def wanted(run: Run) -> str | None:
    """The path of the tokenized dataset in the training environment; None if the run file does not give one."""
    path = run.train.arguments.get("tokenized_path") if run.train.kind == "llamafactory" else None
    return run.here(str(path)) if path else None


async def is_there(program: NodeProgram, python: str, path: str) -> bool:
    done = await program.transport.run([python, "-c", THERE, path], timeout_seconds=60.0)
    return done.code == 0


async def tokenize(
    program: NodeProgram, python: str, run: Run, overruled: Mapping[str, Any], env: Mapping[str, str]
) -> None:
    """Tokenizes on one node, in its container if it has one; raises NotReady with the trainer's error message.

    `overruled` are the plan's changes of the training arguments, `env` the ranks' environment.
    """
    arguments = {**run.train.arguments, **overruled}
    for key in PATHS:
        if isinstance(arguments.get(key), str):
            arguments[key] = run.here(arguments[key])
    arguments = {key: value for key, value in arguments.items() if key not in ELSEWHERE and value is not None}
    asked = {"arguments": arguments, "env": dict(env), "seconds": TOKENIZE_SECONDS}
    done = await program.transport.run(
        [python, "-c", TOKENIZE], stdin=json.dumps(asked).encode(), timeout_seconds=TOKENIZE_SECONDS
    )
    if done.code != 0:
        raise blocked(
            "dataset-not-tokenized",
            program.node,
            f"the dataset cannot be tokenized on {program.node}: {last_words(done)}",
            expected=f"the tokenized dataset in {wanted(run)}",
            why="the ranks would meet the same error in the launch.",
            fix="fix the trainer's error, or take tokenized_path out to let the ranks tokenize",
        )
