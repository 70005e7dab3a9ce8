FIRES = (
    "gpu-node-02: [rank3]: Traceback (most recent call last):\n"
    "gpu-node-02: [rank3]: ModuleNotFoundError: No module named 'flash_attn'\n"
    "gpu-node-01: [rank0]: Traceback (most recent call last):\n"
    "gpu-node-01: [rank0]: RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.20.0.12]:20668\n",
    "Traceback (most recent call last):\nImportError: the decoder needs nibabel\n",
    "RuntimeError: mpi4py is needed for this launcher, but not found\n",
    "wandb: ERROR Could not import package matplotlib, is it installed?\n",
    "importlib.metadata.PackageNotFoundError: No package metadata was found for bitsandbytes\n",
    "Error: the run failed, module not found on the second worker\n",
    "缺少mpi4py，训练失败\n",
    "提示 bitsandbytes 未安装\n",
    (
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'mpi4py'\n"
        "mpirun detected that one or more processes exited with non-zero status, thus causing the job to be "
        "terminated. The first process to do so was:\n\n  Process name: [[40713,1],3]\n  Exit code:    1\n",
        3,
    ),
)

SILENT = (
    "Warning: No module named 'apex', using torch's own\n"
    + "".join(f"[rank0] step {n} loss 3\n" for n in range(20)),
    "ERROR: git-lfs is not installed on this node\n",
)
