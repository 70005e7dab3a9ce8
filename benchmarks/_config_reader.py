"""The libraries' verdict on configurations, without a line of allranks: what `configs.py` compares with.

It runs in each environment's Python. LLaMA-Factory reads its YAML as `llamafactory-cli train FILE` does; nobody stands
for the other ranks. One JSON object a line of standard input, `{"yaml", "deepspeed", "ranks"}`
(paths, or null), and one of standard output.
"""

import copy
import json
import os
import signal
import sys
import tempfile
import types
import warnings

warnings.simplefilter("ignore")


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
    import llamafactory.model.model_utils.quantization  # noqa: F401

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


def read(asked, folder):
    from deepspeed.runtime.config import DeepSpeedConfig
    from llamafactory.hparams import get_train_args, read_args

    world(asked["ranks"])
    sys.argv = ["llamafactory-cli", asked["yaml"]]
    values = {**read_args(), "output_dir": folder}
    if asked["deepspeed"]:
        values["deepspeed"] = asked["deepspeed"]
    model, _, training, _, _ = get_train_args(values)
    if model.quantization_bit is not None:
        from llamafactory.model.model_utils.quantization import configure_quantization

        configure_quantization(types.SimpleNamespace(), None, model, is_trainable=True, init_kwargs={})
    if not asked["deepspeed"]:
        return
    filled = training.hf_deepspeed_config
    if filled.is_zero3():
        DeepSpeedConfig(copy.deepcopy(filled.config))
    known = filled.get_value("scheduler.params.total_num_steps")
    steps = training.max_steps if training.max_steps > 0 else known if isinstance(known, int) else 1000
    sizes = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=1024))
    filled.trainer_config_finalize(training, sizes, steps)
    DeepSpeedConfig(filled.config)


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
            said = f"{type(error).__name__}: {error}"[:2000]
        os.write(writable, json.dumps(said).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else "it ended without a word"


def main():
    asked = [json.loads(line) for line in sys.stdin]
    libraries()
    for one in asked:
        print("SAID " + json.dumps(said_in_a_child(one)), flush=True)


if __name__ == "__main__":
    main()
