FIRES = (
    "AssertionError: Invalid optimizer offloading device: none\n",
    "Traceback (most recent call last):\nlightning.fabric.utilities.exceptions.MisconfigurationException: Do not set "
    "`gradient_accumulation_steps` in the DeepSpeed config\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: AssertionError: Check "
    "batch related parameters. train_batch_size is "
    "not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 2 * 1 * 1\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]:   File "
    '"deepspeed/runtime/config.py", line 596, in _batch\n'
    "[rank0]: TypeError: '>' not supported between instances of 'str' and 'int'\n",
    "ValueError: fp16 is enabled but the following parameters have dtype that is not fp16: head.weight\n",
    "AssertionError: Lion8 is not a supported DeepSpeed Optimizer\n",
    "AssertionError: this layer is not supported with Stage 3\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: TypeError: "
    "unsupported operand type(s) for +: 'int' and 'str'\n",
)
