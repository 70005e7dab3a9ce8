"""The dataset tokenized once before the launch, so that the ranks read it instead of waiting for one of them.

LLaMA-Factory keeps a tokenized dataset where `tokenized_path` says; without that key nothing is done, since what it
writes may be larger than the dataset, and only the user knows where there is room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from allranks.node.redaction import Redactor
from allranks.plan.trainer import PATHS
from allranks.prepare.failures import blocked, last_words
from allranks.prepare.progress import WATCH
from allranks.spec import Run
from allranks.transport import NodeProgram, is_hidden

TOKENIZE_SECONDS = 4 * 3600.0
"""Millions of long samples on few workers; the process-group timeout of a run would be over long before."""

ELSEWHERE = ("deepspeed", "output_dir", "overwrite_output_dir", "resume_from_checkpoint", "report_to")
"""Arguments that tokenizing does not need and that would start or demand other things."""

THERE = """
import json, os, sys
path = sys.argv[1]
def is_whole(folder):
    return all(os.path.isfile(os.path.join(folder, name)) for name in ("state.json", "dataset_info.json"))
if not os.path.isdir(path) or not os.listdir(path):
    sys.exit(3)
folders = [path]
splits = os.path.join(path, "dataset_dict.json")
if os.path.isfile(splits):
    with open(splits) as file:
        folders = [os.path.join(path, split) for split in json.load(file)["splits"]]
sys.exit(0 if all(map(is_whole, folders)) else 4)
"""
"""Ends with 3 if there is no tokenized dataset, and with 4 if its writer broke off. `datasets` writes these files last
(4.0, `arrow_dataset.py` and `dataset_dict.py`, `save_to_disk`)."""

NO_DATASET, NOT_WHOLE = 3, 4

TOKENIZE = (
    "import contextlib, fcntl, json, os, shutil, sys, tempfile\n"
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
    path = os.path.realpath(data.tokenized_path)
    parent, name = os.path.split(path)
    os.makedirs(parent, exist_ok=True)
    in_place = os.path.ismount(path) or not os.access(parent, os.W_OK)
    with contextlib.suppress(OSError):  # a file system without locks on folders
        fcntl.flock(os.open(parent, os.O_RDONLY), fcntl.LOCK_EX)
    there = os.path.isdir(path) and bool(os.listdir(path))  # another run has made it meanwhile
    draft = os.path.join(parent, "." + name + ".allranks-draft")
    shutil.rmtree(draft, ignore_errors=True)
    data.tokenized_path = path if there or in_place else draft
    loaded = load_tokenizer(model)
    template = get_template_and_fix_tokenizer(loaded["tokenizer"], data)
    get_dataset(template, model, data, training, stage=finetuning.stage, **loaded)
    if not (there or in_place):
        os.rename(draft, path)
print(json.dumps(sorted(os.listdir(path))))
"""
)
"""LLaMA-Factory's own steps before the trainer (0.9.3 to 0.9.5, train/sft/workflow.py). They save the tokenized
dataset, here under another name until it is whole: LLaMA-Factory takes any folder that is not empty for one."""


def wanted(run: Run) -> str | None:
    """The path of the tokenized dataset in the training environment; None if the run file does not give one."""
    path = run.train.arguments.get("tokenized_path") if run.train.kind == "llamafactory" else None
    return run.here(str(path)) if path else None


async def is_there(program: NodeProgram, python: str, path: str) -> bool:
    """Raises NotReady if a dataset is there and not whole: nobody but its owner may remove it."""
    done = await program.transport.run([python, "-c", THERE, path], timeout_seconds=60.0)
    if done.code not in (0, NO_DATASET):
        what = (
            "is not whole: its writer broke off"
            if done.code == NOT_WHOLE
            else f"cannot be read: {last_words(done)}"
        )
        raise blocked(
            "dataset-not-tokenized",
            program.node,
            f"the tokenized dataset {path} on {program.node} {what}",
            expected="a whole tokenized dataset, or none",
            why="the ranks would not tokenize, and could not load it.",
            fix="remove the folder: allranks tokenizes again",
        )
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
        hidden = (value for name, value in env.items() if is_hidden(frozenset(run.secrets), name, value))
        raise blocked(
            "dataset-not-tokenized",
            program.node,
            f"the dataset cannot be tokenized on {program.node}: {Redactor(hidden).text(last_words(done))}",
            expected=f"the tokenized dataset in {wanted(run)}",
            why="the ranks would meet the same error in the launch.",
            fix="fix the trainer's error, or take tokenized_path out to let the ranks tokenize",
        )
