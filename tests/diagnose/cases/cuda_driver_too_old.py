FIRES = (
    "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: The NVIDIA driver on your system is too old (found "
    "version 12020). Please update your GPU driver\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: Found no NVIDIA driver on your system.\n",
)
