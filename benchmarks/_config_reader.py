"""The libraries' verdict on configurations, without a line of allranks: what `configs.py` compares with.

It runs in each environment's Python. LLaMA-Factory reads its YAML as `llamafactory-cli train FILE` does; nobody stands
for the other ranks. Then it does what the first rank does next, with a tiny Llama in place of the model that the YAML
names: template, model, adapter, trainer, optimizer and schedule. No batch is read. A JSON without a YAML is read by
DeepSpeed alone, as a script's. One JSON object a line of standard input, `{"yaml", "deepspeed", "ranks"}` (paths, or
null; `is_plain` if it was written for the JSON, and holds nothing of interest), and one of standard output.
"""

import copy
import inspect
import json
import os
import signal
import sys
import tempfile
import traceback
import types
import warnings

warnings.simplefilter("ignore")

TINY = ""


def libraries():
    import transformers.training_args
    import transformers.utils

    # This machine has no GPU: what one can do is not asked here.
    for module in (transformers.utils, transformers.utils.import_utils, transformers.training_args):
        for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
            if hasattr(module, name):
                setattr(module, name, lambda: True)
    import deepspeed.runtime.config  # noqa: F401
    import llamafactory.hparams.parser as parser
    import llamafactory.model
    import llamafactory.train.tuner  # noqa: F401

    parser.is_torch_bf16_gpu_available = lambda: True


def world(ranks):
    """As the first of so many ranks sees it: nobody is joined, and nothing is waited for."""
    import torch
    from accelerate.utils import DistributedType
    from deepspeed.runtime import config
    from transformers import TrainingArguments

    state = types.SimpleNamespace(
        num_processes=ranks,
        process_index=0,
        local_process_index=0,
        distributed_type=DistributedType.MULTI_CPU,
    )

    def devices(arguments):
        arguments.distributed_state, arguments._n_gpu = state, 1
        return torch.device("cpu")

    TrainingArguments._setup_devices = property(devices)
    config.dist = types.SimpleNamespace(get_rank=lambda *_: 0, get_world_size=lambda *_: ranks)


def tiny_model(folder):
    """A Llama whose weights are drawn, with the word-level tokenizer of ten words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models

    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    config = transformers.LlamaConfig(num_hidden_layers=8, num_key_value_heads=2, **sizes)
    config.torch_dtype = torch.float32
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    words = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", "<pad>", *"abcdef"])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names).save_pretrained(folder)


def read(asked, folder):
    world(asked["ranks"])
    if asked["yaml"] is None:
        with open(asked["deepspeed"]) as file:
            deepspeed_alone(json.load(file))
        return
    from llamafactory.hparams import get_train_args, read_args

    sys.argv = ["llamafactory-cli", asked["yaml"]]
    values = {**read_args(), "output_dir": folder}
    if asked["deepspeed"]:
        values["deepspeed"] = asked["deepspeed"]
    model, data, training, finetuning, _ = get_train_args(values)
    if model.quantization_bit is not None:
        from llamafactory.model.model_utils.quantization import configure_quantization

        # 0.9.3 has no `is_trainable`.
        is_told = "is_trainable" in inspect.signature(configure_quantization).parameters
        between = (True,) if is_told else ()
        configure_quantization(types.SimpleNamespace(), None, copy.copy(model), *between, {})
    own = filled_json(training) if asked["deepspeed"] else {}
    if not asked.get("is_plain"):
        as_a_rank(model, data, training, finetuning, own)


def filled_json(training):
    """The JSON as transformers hands it to DeepSpeed, which reads it, under ZeRO-3 twice."""
    from deepspeed.runtime.config import DeepSpeedConfig

    filled = training.hf_deepspeed_config
    if filled.is_zero3():
        DeepSpeedConfig(copy.deepcopy(filled.config))
    known = filled.get_value("scheduler.params.total_num_steps")
    steps = training.max_steps if training.max_steps > 0 else known if isinstance(known, int) else 1000
    sizes = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=1024))
    filled.trainer_config_finalize(training, sizes, steps)
    deepspeed_alone(filled.config)
    return filled.config


def deepspeed_alone(config):
    """DeepSpeed's own reading, and the optimizer and schedule that it makes of it."""
    import torch
    from deepspeed.runtime import lr_schedules
    from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS, DeepSpeedConfig

    read = DeepSpeedConfig(copy.deepcopy(config))
    if read.optimizer_name is not None and read.optimizer_name not in DEEPSPEED_OPTIMIZERS:
        getattr(torch.optim, read.optimizer_name)
    if read.scheduler_name is not None:
        made = getattr(torch.optim.lr_scheduler, read.scheduler_name, None)
        made = getattr(lr_schedules, read.scheduler_name, None) or made
        if made is None:
            raise ValueError(f"no schedule {read.scheduler_name}")
        weights = [torch.nn.Parameter(torch.zeros(1))]
        made(torch.optim.AdamW(weights, lr=1e-3), **(read.scheduler_params or {}))


def as_a_rank(model, data, training, finetuning, own):
    """What follows the reading in a rank, on this machine: one process, no DeepSpeed, the tiny model."""
    from llamafactory.data.template import get_template_and_fix_tokenizer
    from llamafactory.model import load_model, load_tokenizer
    from llamafactory.train.trainer_utils import create_custom_optimizer
    from transformers import Trainer
    from transformers.integrations.deepspeed import unset_hf_deepspeed_config

    unset_hf_deepspeed_config()
    training.deepspeed = training.hf_deepspeed_config = training.deepspeed_plugin = None
    training.fsdp, training.use_cpu = [], True
    model.model_name_or_path, model.adapter_name_or_path = TINY, None
    model.quantization_bit, model.compute_dtype = None, None
    tokenizer = load_tokenizer(model)["tokenizer"]
    get_template_and_fix_tokenizer(tokenizer, data)
    loaded = load_model(tokenizer, model, finetuning, True, finetuning.stage in ("rm", "ppo"))
    if "optimizer" in own:
        return
    training.remove_unused_columns = False
    held_out = [{}] if data.eval_dataset or data.val_size > 1e-6 else None
    trainer = Trainer(model=loaded, args=training, train_dataset=[{}], eval_dataset=held_out)
    trainer.optimizer = create_custom_optimizer(loaded, training, finetuning)
    if trainer.optimizer is None:
        trainer.create_optimizer()
    if "scheduler" not in own:
        trainer.create_scheduler(1000, trainer.optimizer)


def said_in_a_child(asked):
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = None
        signal.alarm(60)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        try:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                read(asked, folder)
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = "/".join(last.filename.split("/")[-3:])
            said = f"{type(error).__name__}: {error}"[:2000] + f" ({place}, {last.name})"
        os.write(writable, json.dumps(said).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else "it ended without a word"


def main():
    libraries()
    with tempfile.TemporaryDirectory() as folder:
        global TINY
        TINY = folder
        tiny_model(folder)
        for line in sys.stdin:
            print("SAID " + json.dumps(said_in_a_child(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
