FIRES = (
    "Traceback (most recent call last):\nRuntimeError: launcher 'pdsh' not installed.\n",
    "RuntimeError: pdsh is not installed\n",
    "DeepSpeed requires pdsh\n",
    "pdsh error on two machines\n",
    "launch failed = (f\"launcher '{args.launcher}' not installed.\")\n",
)

SILENT = (
    "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'numactl'\n",
    "pdsh cannot connect to node1\n",
)
