FIRES = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n",
    "Illegal memory error when training with several GPUs\n",
    "Failed to load the module: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure\n",
    "RuntimeError: CUDA error: unspecified launch failure\n",
)

SILENT = ("NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off the bus.\n",)
