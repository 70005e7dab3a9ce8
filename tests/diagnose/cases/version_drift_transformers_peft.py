FIRES = (
    "TypeError: init_process_group() got multiple values for keyword argument 'backend'\n",
    "Traceback (most recent call last):\n"
    '  File "/e/transformers/models/auto/configuration_auto.py", line 1, in __getitem__\n'
    "    raise KeyError(key)\n"
    "KeyError: 'qwen9'\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: ImportError: "
    "cannot import name 'EncoderDecoderCache' from "
    "'transformers' (/opt/env/lib/python3.11/site-packages/transformers/__init__.py)\n",
    "Exception: data did not match any variant of untagged enum PreTokenizerWrapper at line 90 column 3\n",
    "AttributeError: 'LlamaAttention' object has no attribute 'rope_theta'\n",
    "The script is incompatible with `peft == 0.13.0`, an error is raised.\n",
    "ValueError: Tokenizer class Qwen2Tokenizer does not exist or is not currently imported.\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: ModuleNotFoundError: No module named 'peft'\n",
)
