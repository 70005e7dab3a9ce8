FIRES = (
    "[ 38.03] NVRM: installed in this system is not supported by the\n[ 38.03] NVRM: NVIDIA 550.90 driver.\n",
    "Failed to initialize NVML: Driver/library version mismatch\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n",
)

SILENT = (
    "W1120 cpp_extension.py:183] No CUDA runtime is found, using CUDA_HOME='/usr/local'\n[rank0] step 1 loss 3\n",
)
