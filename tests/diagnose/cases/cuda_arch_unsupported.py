FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: no kernel image is available for execution on the "
    "device\n",
    "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'\n",
    "ERROR: No supported GPU(s) detected to run this container\n",
    "WARNING: Detected GPU 5, which is not yet supported in this version of the container\n",
    "Found GPU0 Tesla K40c. PyTorch no longer supports this GPU because it is too old.\n",
    "NotImplementedError: No operator found for this attention: requires device with capability > (8, 0) "
    "but your GPU has capability (7, 5)\n",
    "ValueError: Unknown CUDA arch (12.0) or GPU not supported\n",
    "ValueError: FP8 needs what this card lacks: it requires a GPU with compute capability >= 8.9, actual = `8.6`\n",
    "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs: requires "
    "device with capability > (8, 0) but your GPU has capability (7, 5) (too old)\n",
    "RuntimeError: CUDA error: invalid device function\n",
    "Invalid device function with an RTX 3060\n",
    "FlashAttention is not supported on V100\n",
    "Unfortunately my V100 does not support this kernel, it fails\n",
    "RuntimeError: Expected is_sm80 to be true, but got false.\n",
)

SILENT = (
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n",
    "RuntimeError: HIP error: invalid device function\n",
    "NCCL P2P is not supported on RTX 2080 Ti\n",
)
