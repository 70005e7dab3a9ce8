FIRES = (
    "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n",
)

SILENT = ("RuntimeError: No CUDA GPUs are available\n",)
