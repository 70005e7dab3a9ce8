FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: Distributed package doesn't have NCCL built in\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: AssertionError: Torch not compiled with CUDA enabled\n",
    "ValueError: Cannot use GPU, this paddle is not compiled with CUDA\n",
    "AssertionError: Torch not compiled with XPU enabled\n",
    "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend.\n",
    ("PyTorch built with CUDA:         False\nNo GPU detected.\n"),
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: AttributeError: module 'torch' has no attribute 'float9'\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n",
)
