"""A trial of a run's configuration by the training libraries: their own parsers read it, without model, GPU or
network.

The sources of this module and of `configuration_steps` run in the training environment's Python
(`node/facts/imports.py`), so they do not import other parts of allranks. Their answer is the message that
LLaMA-Factory, transformers or DeepSpeed would print right after the launch. Each question has its own process, since
the libraries keep settings in globals. A question that the libraries must accept is asked first: an error of that
question is about this trial, and not about the run.

A question is a JSON object:

| key | what |
|---|---|
| `kind` | `llamafactory`; or `deepspeed`: a JSON as the user's own script hands it to DeepSpeed |
| `filled` | of `deepspeed`: transformers replaces its `auto`, by values that are not known here |
| `words` | LLaMA-Factory's command line, without `output_dir` and `deepspeed`; or |
| `yaml` | the text of its YAML, without these two |
| `deepspeed` | the DeepSpeed JSON, or null |
| `world_size` | the run's ranks |
| `cpu` | whether the run asks to train on CPUs: other checks judge what a GPU can do |

An answer has `refused` (a boolean), and if so `step`, `error` (its type), `said` and `library` (which raised it); or
`unknown`, why there is no answer. `skipped` names the steps that could not be tried, with the reason.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, List, Optional

from allranks.node.configuration_steps import Refused, Trial, without_auto

QUESTION_SECONDS = 60.0
"""One question's limit. It takes 0.1 s; a logger that is imported for the first time took up to 20 s."""

MOST_CHARACTERS = 4000
LIBRARIES = ("llamafactory", "transformers", "accelerate", "deepspeed")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def answers(
    questions: List[Dict[str, Any]], seconds: float, doubts: Optional[Dict[str, Optional[str]]] = None
) -> List[Dict[str, Any]]:
    """One answer per question, in their order, within so many seconds. An error in a library never raises here.

    `doubts` keeps the results of the questions that must be accepted, for the next call."""
    deadline = time.monotonic() + seconds
    for load in (_import_deepspeed, _import_llamafactory):
        if any(load is not _import_llamafactory or q.get("kind") == "llamafactory" for q in questions):
            try:
                load()
            except BaseException as error:
                return [{"unknown": "%s: %s" % (type(error).__name__, str(error)[:MOST_CHARACTERS])}] * len(
                    questions
                )
    doubts = {} if doubts is None else doubts
    found = []
    for question in questions:
        control = _control(question)
        key = json.dumps(control, sort_keys=True)
        if key not in doubts:
            doubts[key] = _doubt(_in_process(control, deadline))
        doubt = doubts[key]
        found.append({"unknown": doubt} if doubt else _in_process(question, deadline))
    return found


def _import_deepspeed() -> None:
    import importlib.util

    if importlib.util.find_spec("deepspeed") is not None:
        import deepspeed.runtime.config  # noqa: F401


def _import_llamafactory() -> None:
    """Imports it with the functions that look for a GPU replaced, so that they find one: other checks judge the
    GPUs."""
    import transformers.training_args
    import transformers.utils

    for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
        for module in (transformers.utils, transformers.utils.import_utils, transformers.training_args):
            if hasattr(module, name):
                setattr(module, name, _gpu_can)
    import llamafactory.hparams.parser as parser

    for module in [m for name, m in list(sys.modules.items()) if name.startswith("llamafactory.hparams")]:
        if hasattr(module, "is_torch_bf16_gpu_available"):
            setattr(module, "is_torch_bf16_gpu_available", _gpu_can)  # noqa: B010
    assert parser


_on_cpu = False


def _gpu_can(*_: Any, **__: Any) -> bool:
    return not _on_cpu


def _control(question: Dict[str, Any]) -> Dict[str, Any]:
    """A question like this one that must be accepted."""
    config = None
    if question.get("kind") == "deepspeed":
        config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}
    elif question.get("deepspeed") is not None:
        automatic = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
        config = {**automatic, "zero_optimization": {"stage": 2}}
    simple = {"model_name_or_path": "model", "dataset": "data", "template": "default", "stage": "sft"}
    simple.update(do_train="true", finetuning_type="lora", report_to="none")
    if question.get("cpu"):
        simple["use_cpu"] = "true"
    control = {**question, "deepspeed": config}
    if "yaml" in question:
        control["yaml"] = "".join("%s: %s\n" % pair for pair in simple.items())
    else:
        control["words"] = ["--%s=%s" % pair for pair in simple.items()]
    return control


def _doubt(answer: Dict[str, Any]) -> Optional[str]:
    if "unknown" in answer:
        return str(answer["unknown"])
    if answer.get("refused"):
        return "they refuse the simplest configuration, too: %s" % answer.get("said")
    return None


def _in_process(question: Dict[str, Any], deadline: float) -> Dict[str, Any]:
    """The answer of a child that begins with the libraries imported, and leaves nothing behind."""
    limit = min(QUESTION_SECONDS, deadline - time.monotonic())
    if limit <= 0:
        return {"unknown": "there was no time left to ask them"}
    folder = tempfile.mkdtemp(prefix="allranks-trial-")
    readable, writable = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(readable)
            signal.alarm(int(limit) + 5)
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            os.chdir(folder)
            data = json.dumps(_answer(question, folder)).encode()
            while data:
                data = data[os.write(writable, data) :]
        finally:
            os._exit(0)
    os.close(writable)
    try:
        return _heard(readable, limit)
    finally:
        os.close(readable)
        try:
            os.kill(pid, signal.SIGKILL)  # our own child, not yet reaped
        except OSError:
            pass
        os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)


def _heard(readable: int, limit: float) -> Dict[str, Any]:
    deadline, data = time.monotonic() + limit, b""
    while True:
        ready, _, _ = select.select([readable], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return {"unknown": "they did not answer within %.0f s" % limit}
        block = os.read(readable, 1 << 16)
        if not block:
            break
        data += block
    try:
        return json.loads(data.decode())
    except ValueError:
        return {"unknown": "the process that read it ended without an answer"}


def _answer(question: Dict[str, Any], folder: str) -> Dict[str, Any]:
    global _on_cpu
    _on_cpu = bool(question.get("cpu"))
    os.environ.update(OFFLINE)
    os.environ.update(CUDA_VISIBLE_DEVICES="", WORLD_SIZE=str(question["world_size"]))
    os.environ.update(RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    trial = Trial(int(question["world_size"]), folder)
    try:
        if question.get("kind") == "deepspeed":
            config = dict(question["deepspeed"])
            trial.deepspeed(without_auto(config) if question.get("filled") else config)
        else:
            words = [str(word) for word in question.get("words") or []]
            trial.llamafactory(words, question.get("yaml"), question.get("deepspeed"))
    except Refused as refused:
        return {**_refusal(refused), "skipped": trial.skipped}
    except BaseException as error:
        return {"unknown": "%s: %s" % (type(error).__name__, str(error)[:MOST_CHARACTERS])}
    return {"refused": False, "skipped": trial.skipped}


def _refusal(refused: Refused) -> Dict[str, Any]:
    error = refused.error
    said = str(error)
    if isinstance(error, SystemExit):  # argparse prints its reason, and the usage of all arguments before it
        said = next((row for row in reversed(refused.printed.splitlines()) if "error:" in row), said)
        said = said.partition("error: ")[2] or said
    if "AllranksStandIn" in said:
        return {"unknown": "%s: %s" % (type(error).__name__, said[:MOST_CHARACTERS])}
    files = [frame.filename.split("/") for frame in traceback.extract_tb(error.__traceback__)]
    inner = [next((part for part in reversed(file) if part in LIBRARIES), None) for file in files]
    # The library that was asked, not one that it asked in turn.
    library = next((part for part in inner if part), None)
    return {
        "refused": True,
        "step": refused.step,
        "error": type(error).__name__,
        "said": said[:MOST_CHARACTERS],
        "library": library,
    }
