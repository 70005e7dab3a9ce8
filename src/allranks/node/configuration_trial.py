"""The training libraries read a run's configuration for a trial: their own parsers, no model, no GPU, no network.

The source of this module runs in the training environment's Python (`node/facts/imports.py`), so what it imports of
ours is nothing. It answers what LLaMA-Factory, transformers and DeepSpeed would say right after the launch, in their
own words. Each question has a process of its own, since the libraries keep what they read in globals. A question that
the libraries must accept is asked first: what they say then is about this trial, and not about the run.

A question is a JSON object:

| key | what |
|---|---|
| `kind` | `llamafactory`; or `deepspeed`: a JSON as a script of the user's own hands it to DeepSpeed |
| `words` | LLaMA-Factory's command line, without `output_dir` and `deepspeed` |
| `deepspeed` | the DeepSpeed JSON, or null |
| `world_size` | the run's ranks |
| `cpu` | whether it trains on CPUs by its own wish: what a GPU can do is judged by others |

An answer has `refused` (a boolean), and if so `step`, `error` (its type), `said` and `library` (which raised it); or
`unknown`, why there is no answer. `skipped` names the steps that could not be tried, with the reason.
"""

from __future__ import annotations

import copy
import io
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Callable, Dict, List, Optional

QUESTION_SECONDS = 60.0
"""One question's limit. It takes 0.1 s; a logger that is imported for the first time took up to 20 s."""

MOST_CHARACTERS = 4000
LIBRARIES = ("llamafactory", "transformers", "accelerate", "deepspeed")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
LOGGERS = ("tensorboard", "wandb", "mlflow", "swanlab", "trackio")
"""Those whose callback only imports its package when it is made."""

NEED_A_MODEL = ("galore", "apollo", "lomo", "adalomo")
"""transformers' optimizers that cannot be made without the model (5.6, `trainer_optimizer.py`)."""


class AllranksStandIn:
    """Stands for an object of a library; an error that names it is about this trial."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def answers(questions: List[Dict[str, Any]], seconds: float) -> List[Dict[str, Any]]:
    """One answer a question, in their order, within so many seconds. Never raises because of what a library does."""
    deadline = time.monotonic() + seconds
    for load in (_import_deepspeed, _import_llamafactory):
        if any(load is not _import_llamafactory or q.get("kind") == "llamafactory" for q in questions):
            try:
                load()
            except BaseException as error:
                return [{"unknown": "%s: %s" % (type(error).__name__, str(error)[:MOST_CHARACTERS])}] * len(
                    questions
                )
    doubts: Dict[str, Optional[str]] = {}
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
    """With what asks for a GPU told that there is one: which it is, and what it can do, is judged by others."""
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
        config = {
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "zero_optimization": {"stage": 2},
        }
    words = [
        "--model_name_or_path=model",
        "--dataset=data",
        "--template=default",
        "--stage=sft",
        "--do_train=true",
    ]
    words += ["--finetuning_type=lora", "--report_to=none"]
    if question.get("cpu"):
        words.append("--use_cpu=true")
    return {**question, "words": words, "deepspeed": config}


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


class _Refused(Exception):
    def __init__(self, step: str, error: BaseException, printed: str) -> None:
        super().__init__(step)
        self.step, self.error, self.printed = step, error, printed


def _answer(question: Dict[str, Any], folder: str) -> Dict[str, Any]:
    global _on_cpu
    _on_cpu = bool(question.get("cpu"))
    os.environ.update(OFFLINE)
    os.environ.update(CUDA_VISIBLE_DEVICES="", WORLD_SIZE=str(question["world_size"]))
    os.environ.update(
        RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="1"
    )
    trial = Trial(int(question["world_size"]), folder)
    try:
        if question.get("kind") == "deepspeed":
            trial.deepspeed(dict(question["deepspeed"]))
        else:
            trial.llamafactory([str(word) for word in question["words"]], question.get("deepspeed"))
    except _Refused as refused:
        return {**_refusal(refused), "skipped": trial.skipped}
    except BaseException as error:
        return {"unknown": "%s: %s" % (type(error).__name__, str(error)[:MOST_CHARACTERS])}
    return {"refused": False, "skipped": trial.skipped}


def _refusal(refused: _Refused) -> Dict[str, Any]:
    error = refused.error
    said = str(error)
    if isinstance(error, SystemExit):  # argparse prints its reason, and the usage of all arguments before it
        said = next((row for row in reversed(refused.printed.splitlines()) if "error:" in row), said)
        said = said.partition("error: ")[2] or said
    if "AllranksStandIn" in said:
        return {"unknown": "%s: %s" % (type(error).__name__, said[:MOST_CHARACTERS])}
    files = [
        frame.filename.replace("\\", "/").split("/") for frame in traceback.extract_tb(error.__traceback__)
    ]
    inner = [next((part for part in reversed(file) if part in LIBRARIES), None) for file in files]
    library = next(
        (part for part in inner if part), None
    )  # the one that was asked, not one that it asked in turn
    return {
        "refused": True,
        "step": refused.step,
        "error": type(error).__name__,
        "said": said[:MOST_CHARACTERS],
        "library": library,
    }


class Trial:
    """The steps of the libraries, in the order in which a rank takes them."""

    def __init__(self, world_size: int, folder: str) -> None:
        self.world_size, self.folder = world_size, folder
        self.skipped: Dict[str, str] = {}

    def step(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                return function(*arguments)
        except (Exception, SystemExit) as error:
            raise _Refused(name, error, printed.getvalue()) from None

    def llamafactory(self, words: List[str], config: Optional[Dict[str, Any]]) -> None:
        from llamafactory.hparams import get_train_args

        self._without_process_group()
        words = [*words, "--output_dir=" + os.path.join(self.folder, "output")]
        if config is not None:
            path = os.path.join(self.folder, "deepspeed.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            words.append("--deepspeed=" + path)
        model, _, training, finetuning, _ = self.step("arguments", get_train_args, words)
        self._quantization(model, finetuning)
        if config is not None:
            self._filled_deepspeed(training)
        if config is None or "optimizer" not in config:
            self._optimizer(training, finetuning)
        self._loggers(training)

    def _without_process_group(self) -> None:
        """As torchrun's first rank sees it, without joining the others."""
        import torch
        from accelerate.utils import DistributedType
        from transformers import TrainingArguments

        world = AllranksStandIn(
            num_processes=self.world_size,
            process_index=0,
            local_process_index=0,
            is_main_process=True,
            is_local_main_process=True,
            device=torch.device("cpu"),
            backend="gloo",
            distributed_type=DistributedType.MULTI_CPU,
        )

        def setup(arguments: Any) -> Any:
            arguments.distributed_state, arguments._n_gpu = world, 1
            return torch.device("cpu")

        setattr(TrainingArguments, "_setup_devices", property(setup))  # noqa: B010  # a cached property's place

    def _quantization(self, model: Any, finetuning: Any) -> None:
        """The base's own `quantization_config`, or the quantizer that is asked for."""
        import inspect

        from llamafactory.model.model_utils.quantization import configure_quantization
        from transformers import PretrainedConfig

        try:
            found, _ = PretrainedConfig.get_config_dict(
                model.model_name_or_path,
                local_files_only=True,
                cache_dir=model.cache_dir,
                revision=model.model_revision,
            )
        except Exception as error:
            self.skipped["quantization"] = "the model's config.json: %s" % str(error).splitlines()[0][:200]
            found = {}
        parts = {key: found[key] for key in ("quantization_config", "model_type") if key in found}
        given = {
            "config": AllranksStandIn(**parts),
            "tokenizer": None,
            "model_args": copy.deepcopy(model),
            "is_trainable": True,
            "init_kwargs": {},
        }
        names = list(inspect.signature(configure_quantization).parameters)
        if set(names) - set(given):
            self.skipped["quantization"] = "configure_quantization asks for more than is known here"
            return
        self.step("quantization", configure_quantization, *(given[name] for name in names))

    def _filled_deepspeed(self, training: Any) -> None:
        filled = training.hf_deepspeed_config
        if filled.is_zero3():
            # `from_pretrained` opens zero.Init, which reads the JSON before the model is known.
            self._deepspeed_config(copy.deepcopy(filled.config))
        steps = filled.get_value("scheduler.params.total_num_steps")
        known = training.max_steps if training.max_steps > 0 else steps if isinstance(steps, int) else 1000
        config = AllranksStandIn(config=AllranksStandIn(hidden_size=1024))
        self.step("deepspeed", filled.trainer_config_finalize, training, config, known)
        self.deepspeed(copy.deepcopy(filled.config))

    def deepspeed(self, config: Dict[str, Any]) -> None:
        self._deepspeed_config(copy.deepcopy(config))
        scheduler, optimizer = config.get("scheduler"), config.get("optimizer")
        if isinstance(optimizer, dict):
            self._named_optimizer(optimizer)
        if isinstance(scheduler, dict):
            self._scheduler(scheduler)

    def _deepspeed_config(self, config: Dict[str, Any]) -> None:
        from deepspeed.runtime import config as module

        class World:
            """DeepSpeed's `dist` with this run's ranks."""

            @staticmethod
            def get_rank(*_: Any) -> int:
                return 0

            @staticmethod
            def get_world_size(*_: Any) -> int:
                return self.world_size

        real, module.dist = module.dist, World
        try:
            self.step("deepspeed", module.DeepSpeedConfig, config)
        finally:
            module.dist = real

    def _named_optimizer(self, section: Dict[str, Any]) -> None:
        """As DeepSpeed's engine does: a name that is none of its own is one of torch.optim."""
        import torch
        from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS

        name = section.get("type")
        if isinstance(name, str) and name.lower() not in DEEPSPEED_OPTIMIZERS:
            self.step("deepspeed optimizer", getattr, torch.optim, name)

    def _scheduler(self, section: Dict[str, Any]) -> None:
        import torch
        from deepspeed.runtime.engine import DeepSpeedEngine

        engine = AllranksStandIn(
            scheduler_name=lambda: section.get("type"), scheduler_params=lambda: section.get("params")
        )
        optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
        ask = getattr(DeepSpeedEngine, "_scheduler_from_config", None)
        if ask is None:
            self.skipped["scheduler"] = "DeepSpeed makes it in another way"
        else:
            self.step("deepspeed scheduler", ask, engine, optimizer)

    def _optimizer(self, training: Any, finetuning: Any) -> None:
        from transformers import Trainer

        name = str(getattr(training.optim, "value", training.optim))
        own = any(
            getattr(finetuning, "use_" + one, False)
            for one in ("galore", "apollo", "badam", "adam_mini", "muon")
        )
        if own or name.startswith(NEED_A_MODEL):
            self.skipped["optimizer"] = "it is made from the model"
            return
        self.step("optimizer", Trainer.get_optimizer_cls_and_kwargs, training)

    def _loggers(self, training: Any) -> None:
        from transformers.integrations.integration_utils import get_reporting_integration_callbacks

        names = training.report_to if isinstance(training.report_to, list) else [training.report_to]
        for name in names:
            if name in LOGGERS:
                self.step(
                    "report_to",
                    lambda name=name: [one() for one in get_reporting_integration_callbacks([name])],
                )
            elif name not in (None, "none", "all"):
                self.step("report_to", get_reporting_integration_callbacks, [name])
