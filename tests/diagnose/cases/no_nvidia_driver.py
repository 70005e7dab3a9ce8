FIRES = (
    "[ 38.03] NVRM: installed in this system is not supported by the\n[ 38.03] NVRM: NVIDIA 550.90 driver.\n",
    "Failed to initialize NVML: Driver/library version mismatch\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n",
    "In my pod torch.cuda.is_available() returns False although nvidia-smi works\n",
    "the image doesn't see CUDA, the training fails\n",
    "ValueError: Device id must be less than GPU count, but received id is: 0. GPU count is: 0.\n",
    "RuntimeError: Failed to infer device type\n",
    (
        "/env/torch/cuda/__init__.py:107: UserWarning: CUDA initialization: Found no NVIDIA driver on your system.\n"
        "ValueError: FP16 Mixed precision training with AMP or APEX (`--fp16`) and FP16 half precision "
        "evaluation can only be used on CUDA devices.\n"
    ),
    "没有检测到GPU\n",
    "nvml.NvmlException: NVML_ERROR_LIB_RM_VERSION_MISMATCH\n",
    "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded\n",
)

SILENT = (
    "W1120 cpp_extension.py:183] No CUDA runtime is found, using CUDA_HOME='/usr/local'\n[rank0] step 1 loss 3\n",
    (
        "torch.cuda.is_available(): False\n"
        "Epoch 1/3 loss 0.9\n"
        "Epoch 2/3 loss 0.7\n"
        "Epoch 3/3 loss 0.5\n"
        "Training finished\n"
    ),
    "PyTorch 2.1.0+cpu, CUDA not available, running on cpu\n",
)
