FIRES = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: ImportError: "
    "cannot import name 'EncoderDecoderCache' from "
    "'transformers' (/opt/env/lib/python3.11/site-packages/transformers/__init__.py)\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: ModuleNotFoundError: No module named 'peft'\n",
)
