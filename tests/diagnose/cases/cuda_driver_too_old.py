FIRES = (
    "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: The NVIDIA driver on your system is too old (found "
    "version 12020). Please update your GPU driver\n",
    "RuntimeError: CUDA driver version is insufficient.\n",
    "XlaRuntimeError: INTERNAL: the CUDA driver 11020 is older than required 12000\n",
    "Error 803: system has unsupported display driver / cuda driver combination\n",
    (
        "/env/torch/cuda/__init__.py:138: UserWarning: CUDA initialization: The NVIDIA driver on your "
        "system is too old (found version 11040).\n"
        "ValueError: FP16 Mixed precision training with AMP or APEX (`--fp16`) and FP16 half precision "
        "evaluation can only be used on CUDA devices.\n"
    ),
    "显卡驱动版本太低，无法训练\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: Found no NVIDIA driver on your system.\n",
)
