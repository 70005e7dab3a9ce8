"""The steps in which the training libraries read a run's configuration, in the order in which a rank takes them.

Its source runs in the training environment's Python, before that of `configuration_trial`: it imports nothing else.
"""

from __future__ import annotations

import copy
import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Callable, Dict, List, Optional

LOGGERS = ("tensorboard", "wandb", "mlflow", "swanlab", "trackio")
"""Those whose callback only imports its package when it is made."""

NEED_A_MODEL = ("galore", "apollo", "lomo", "adalomo")
"""transformers' optimizers that cannot be made without the model (5.6, `trainer_optimizer.py`)."""


class AllranksStandIn:
    """Stands for an object of a library; an error that names it is about this trial."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


class Refused(Exception):
    """A library's error in a step, with the output that it had printed by then."""

    def __init__(self, step: str, error: BaseException, printed: str) -> None:
        super().__init__(step)
        self.step, self.error, self.printed = step, error, printed


BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def without_auto(config: Dict[str, Any]) -> Dict[str, Any]:
    """A JSON without the values that transformers fills in. Batch sizes follow each other: none is left if one goes."""
    kept: Dict[str, Any] = {}
    for key, value in config.items():
        if value != "auto":
            kept[key] = without_auto(value) if isinstance(value, dict) else value
    if any(config.get(key) == "auto" for key in BATCH):
        kept = {key: value for key, value in kept.items() if key not in BATCH}
        kept["train_micro_batch_size_per_gpu"] = 1
    return kept


class Trial:
    """`skipped`: the steps that could not be tried, with the reason."""

    def __init__(self, world_size: int, folder: str) -> None:
        self.world_size, self.folder = world_size, folder
        self.skipped: Dict[str, str] = {}

    def step(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                return function(*arguments)
        except (Exception, SystemExit) as error:
            raise Refused(name, error, printed.getvalue()) from None

    def llamafactory(self, words: List[str], yaml: Optional[str], config: Optional[Dict[str, Any]]) -> None:
        """`yaml` is the text of LLaMA-Factory's YAML, if it is started with a file in place of words."""
        self._without_process_group()
        own = {"output_dir": os.path.join(self.folder, "output")}
        if config is not None:
            path = os.path.join(self.folder, "deepspeed.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            own["deepspeed"] = path
        model, data, training, finetuning, _ = self.step("arguments", self._arguments, words, yaml, own)
        self._template(data)
        base = self._base(model)
        self._quantization(model, base)
        self._patches(model, finetuning, base.get("model_type"))
        if config is not None:
            self._filled_deepspeed(training)
        if config is None or "optimizer" not in config:
            self._optimizer(training, finetuning)
        self._loggers(training)

    def _arguments(self, words: List[str], yaml: Optional[str], own: Dict[str, str]) -> Any:
        """As it reads them from its own command line."""
        from llamafactory.hparams import get_train_args

        if yaml is None:
            return get_train_args([*words, *("--%s=%s" % pair for pair in own.items())])
        path = os.path.join(self.folder, "arguments.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(yaml + "".join("%s: %s\n" % (key, json.dumps(value)) for key, value in own.items()))
        sys.argv = ["llamafactory", path]
        return get_train_args()

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

    def _template(self, data: Any) -> None:
        """Only one that the library does not know: any other one wants the model's tokenizer."""
        from llamafactory.data import template

        known = getattr(template, "TEMPLATES", None)
        if known is None:
            self.skipped["template"] = "LLaMA-Factory keeps its templates in another way"
        elif data.template is not None and data.template not in known:
            self.step("template", template.get_template_and_fix_tokenizer, AllranksStandIn(), data)

    def _patches(self, model: Any, finetuning: Any, model_type: Optional[str]) -> None:
        """The imports and comparisons before the weights are loaded. Liger's kernels come in one package for all
        models: of one that is not known here, a Gemma's are imported."""
        config = AllranksStandIn(model_type=model_type or "gemma")
        if getattr(model, "shift_attn", False) and model_type is None:
            self.skipped["shift_attn"] = "the model's type is not known"
        elif getattr(model, "shift_attn", False):
            from llamafactory.model.model_utils.longlora import configure_longlora

            self.step("shift_attn", configure_longlora, config, copy.copy(model), True)
        if getattr(model, "enable_liger_kernel", False):
            from llamafactory.model.model_utils.liger_kernel import apply_liger_kernel

            logits = finetuning.stage not in ("pt", "sft")
            self.step("enable_liger_kernel", apply_liger_kernel, config, model, True, logits)
        if getattr(model, "mixture_of_depths", None) is not None:
            from llamafactory.model.model_utils.mod import convert_pretrained_model_to_mod

            try:
                nobodys = AllranksStandIn(model_type=None)
                self.step("mixture_of_depths", convert_pretrained_model_to_mod, None, nobodys, model)
            except Refused as refused:
                if not isinstance(refused.error, ValueError):  # a ValueError: it does not know the stand-in
                    raise

    def _base(self, model: Any) -> Dict[str, Any]:
        """The model's config.json; empty if it is not on this node."""
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
            return {}
        return found

    def _quantization(self, model: Any, base: Dict[str, Any]) -> None:
        """The base's own `quantization_config`, or the quantizer that is asked for."""
        import inspect

        from llamafactory.model.model_utils.quantization import configure_quantization

        parts = {key: base[key] for key in ("quantization_config", "model_type") if key in base}
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
        """As DeepSpeed's engine does: a name that it does not know is one of torch.optim."""
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
        kinds = ("galore", "apollo", "badam", "adam_mini", "muon")
        if any(getattr(finetuning, "use_" + kind, False) for kind in kinds) or name.startswith(NEED_A_MODEL):
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
