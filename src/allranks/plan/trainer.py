"""The arguments that LLaMA-Factory gets: the user's keys, and on top of them those that allranks sets.

Pure: a run and its plan in, arguments out. `spec` has said which of the user's keys lose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from allranks.spec import CPU, Run, trainer_yaml

FILE = "arguments.yaml"

LISTS = frozenset({"report_to", "label_names", "fsdp", "include_for_metrics"})
"""Keys whose command-line form takes several words (transformers' TrainingArguments declares them as
lists); LLaMA-Factory's own lists (`dataset`, `lora_target`, …) are one comma-separated word."""

PATHS = (
    "model_name_or_path",
    "dataset_dir",
    "tokenized_path",
    "adapter_name_or_path",
    "media_dir",
    "resume_from_checkpoint",
)
"""Keys that hold a path of the training environment."""


def arguments(
    run: Run, planned: Mapping[str, Any], output_dir: str, deepspeed_path: str | None
) -> dict[str, Any]:
    """LLaMA-Factory's arguments for this run, in the order of the run file, the plan's and ours last."""
    asked = {**run.train.arguments, **planned}
    asked.setdefault("stage", "sft")
    asked["do_train"] = asked.get("do_train", True)
    asked.setdefault("logging_steps", 1)
    if run.gpus.model == CPU:
        asked.setdefault("use_cpu", True)
    for key in PATHS:
        if isinstance(asked.get(key), str):
            asked[key] = run.here(asked[key])
    asked["output_dir"] = output_dir
    if deepspeed_path is not None:
        asked["deepspeed"] = deepspeed_path
    if run.resume and run.resume != "auto":
        found = run.saved(run.resume)  # nothing expands a `~` in the trainer's file
        asked["resume_from_checkpoint"] = found if found.startswith("/") else run.here(run.resume)
    if run.save.every is not None:
        asked.update(save_strategy="steps", save_steps=run.save.every)
    return asked


def started(run: Run, arguments: Mapping[str, Any], folder: str) -> tuple[list[str], dict[str, str]]:
    """The words that LLaMA-Factory is started with, and the files that they need in `folder`.

    Arguments of a YAML or of the run file come as a file, and those of a command line as words, since LLaMA-Factory
    reads the two in different ways: of a file it takes each value as YAML types it and compares none with an
    argument's choices, and an empty key is None (0.9.3 and 0.9.5, `hparams/parser.py`). A value with a NUL holds a
    variable of a shell script (`launch/scripts/_phrases.py`), so it comes as a word after the file."""
    if run.train.as_words:
        return words(arguments), {}
    late = {key: value for key, value in arguments.items() if isinstance(value, str) and "\0" in value}
    kept = {key: value for key, value in arguments.items() if key not in late}
    after = [f"{key}={value}" for key, value in late.items()]
    return [f"{folder}/{FILE}", *after], {FILE: file_text(run, kept)}


def file_text(run: Run, arguments: Mapping[str, Any]) -> str:
    """The arguments as LLaMA-Factory's YAML, one key per line, each in the user's own text if there is one."""
    return "".join(f"{key}: {_text(run, key, value)}\n" for key, value in arguments.items())


def _text(run: Run, key: str, value: Any) -> str:
    of, text = run.train.written.get(key, (None, None))
    return text if text is not None and type(of) is type(value) and of == value else trainer_yaml.text(value)


def swept(run: Run, values: Mapping[str, Any]) -> list[str]:
    """The words that set these arguments after those of `started`, or after a command's own."""
    if run.train.kind != "llamafactory" or run.train.as_words:
        return words(values)
    return [f"{key}={trainer_yaml.text(value)}" for key, value in values.items()]


def words(arguments: Mapping[str, Any]) -> list[str]:
    """The arguments as a command line. `--key=value` keeps a value that begins with a dash a value."""
    line: list[str] = []
    for key, value in arguments.items():
        if value is None:
            continue
        if isinstance(value, list | tuple) and key in LISTS:
            line += [f"--{key}", *(scalar(item) for item in value)]
        elif isinstance(value, list | tuple):
            line.append(f"--{key}=" + ",".join(scalar(item) for item in value))
        else:
            line.append(f"--{key}={scalar(value)}")
    return line


def scalar(value: Any) -> str:
    """A YAML value as one word of a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value)
    return str(value)
